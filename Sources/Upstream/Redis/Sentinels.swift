import Dispatch
import Synchronization

/// Asks the sentinels, each on a thread of its own, who the master is. An address counts while more
/// than half of all that are configured have named it lately: each vote is a lease, and begins when
/// the question was sent. A master that was cut off together with a minority of them ceases to
/// count when its leases run out, and whoever writes stops with it.
final class Sentinels: MasterSource {
    /// How many times within a lease each sentinel is asked.
    private static let questions = 4

    private struct Vote {
        var address: RedisOptions.Address
        var askedAt: ContinuousClock.Instant
    }

    private struct State {
        var votes: [Vote?]
        var isStopped = false
    }

    private let options: RedisOptions
    private let state: Mutex<State>
    private let notice: @Sendable (RedisNotice) -> Void
    private let queues: [DispatchQueue]
    private let wakeups: [Wakeup]

    init(_ options: RedisOptions, notice: @escaping @Sendable (RedisNotice) -> Void) {
        self.options = options
        self.notice = notice
        state = Mutex(State(votes: options.sentinels.map { _ in nil }))
        queues = options.sentinels.indices.map { index in
            DispatchQueue(label: "gapless.redis.sentinel.\(index)")
        }
        wakeups = options.sentinels.map { _ in Wakeup() }
    }

    func start() {
        for index in queues.indices { queues[index].async { self.run(index) } }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        for wakeup in wakeups { wakeup.wake() }
        for queue in queues { queue.sync {} }
    }

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? {
        let votes = state.withLock { $0.votes }
        var counts: [RedisOptions.Address: Int] = [:]
        for case let vote? in votes where vote.askedAt + options.deadline > now {
            counts[vote.address, default: 0] += 1
        }
        return counts.first { $0.value > votes.count / 2 }?.key
    }

    // MARK: on the thread of one sentinel

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func run(_ index: Int) {
        var backoff = Backoff(base: options.backoffBase, limit: options.deadline)
        var lastTrouble: String?
        while !isStopped {
            do throws(RedisError) {
                let connection = try RedisConnection(
                    options.sentinels[index], timeout: options.deadline)
                while !isStopped {
                    try ask(connection, index)
                    backoff.succeeded()
                    lastTrouble = nil
                    let next = ContinuousClock.now + options.deadline / Self.questions
                    _ = Wakeup.poll(nil, writing: false, wakeups[index], until: next)
                }
            } catch {
                if error.description != lastTrouble {
                    notice(RedisNotice(.warning, error.description))
                    lastTrouble = error.description
                }
                _ = Wakeup.poll(
                    nil, writing: false, wakeups[index], until: .now + backoff.failed())
            }
        }
    }

    private func ask(_ connection: RedisConnection, _ index: Int) throws(RedisError) {
        let askedAt = ContinuousClock.now
        let question = RedisCommand.words("SENTINEL", "GET-MASTER-ADDR-BY-NAME", options.master)
        let reply = try connection.exchange([question], until: askedAt + options.deadline)[0]
        guard let host = reply.elements.first?.string, let port = reply.elements.last?.int else {
            throw RedisError(
                .notMaster, doing: "ask", on: "\(connection.address)",
                seen: "a sentinel that does not know the master",
                detail: reply.errorCode ?? "upstream.redis.master")
        }
        let vote = Vote(address: .init(host: host, port: port), askedAt: askedAt)
        state.withLock { $0.votes[index] = vote }
    }
}
