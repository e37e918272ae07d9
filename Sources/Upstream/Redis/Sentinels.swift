import Synchronization

/// Asks the sentinels, each on a thread of its own, for the master. An address counts while more
/// than half of all configured sentinels have named it lately: each vote is a lease that begins
/// when the question was sent. A master that is cut off with a minority of them stops counting when
/// its leases expire, and its writers stop with it.
final class Sentinels: MasterSource {
    private struct Vote {
        var address: RedisOptions.Address
        var askedAt: ContinuousClock.Instant
    }

    private let options: RedisOptions
    private let votes: Votes
    private let pollers: [Poller]
    private let began = ContinuousClock.now

    private final class Votes: Sendable {
        let all: Mutex<[Vote?]>

        init(count: Int) { all = Mutex(Array(repeating: nil, count: count)) }
    }

    init(_ options: RedisOptions, notice: @escaping @Sendable (UpstreamNotice) -> Void) {
        self.options = options
        let votes = Votes(count: options.sentinels.count)
        self.votes = votes
        pollers = options.sentinels.enumerated().map { index, sentinel in
            Poller(sentinel, options, notice: notice) { connection, askedAt throws(RedisError) in
                let master = try Self.ask(connection, options, askedAt)
                votes.all.withLock { $0[index] = Vote(address: master, askedAt: askedAt) }
            }
        }
    }

    func start() { for poller in pollers { poller.start() } }

    func stop() {
        for poller in pollers { poller.end() }
        for poller in pollers { poller.wait() }
    }

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? {
        let votes = self.votes.all.withLock { $0 }
        var counts: [RedisOptions.Address: Int] = [:]
        for case let vote? in votes where vote.askedAt + options.deadline > now {
            counts[vote.address, default: 0] += 1
        }
        return counts.first { $0.value > votes.count / 2 }?.key
    }

    func isUndecided(at now: ContinuousClock.Instant) -> Bool {
        now < began + options.deadline && master(at: now) == nil
    }

    var trouble: UpstreamNotice? {
        guard master(at: .now) == nil else { return nil }
        return pollers.lazy.compactMap(\.trouble).first
    }

    private static func ask(
        _ connection: RedisConnection, _ options: RedisOptions, _ askedAt: ContinuousClock.Instant
    ) throws(RedisError) -> RedisOptions.Address {
        let question = RedisCommand.words("SENTINEL", "GET-MASTER-ADDR-BY-NAME", options.master)
        let reply = try connection.exchange([question], until: askedAt + options.deadline)[0]
        guard let master = reply.master else {
            throw RedisError(
                .notMaster, doing: "ask", on: "\(connection.address)",
                seen: "a sentinel that does not know the master",
                detail: reply.errorCode ?? "upstream.redis.master")
        }
        return master
    }
}
