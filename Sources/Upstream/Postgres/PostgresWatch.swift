import Dispatch
import Postgres
import Synchronization

/// Watches, on a thread of its own, for a failover while the old server still answers: every
/// `sync.verify_interval` the URL is resolved again, and each server that it names is asked for its
/// identity. A newer one ends the feed.
final class PostgresWatch: Sendable {
    private struct State {
        var isEnded = false
        var isHurried = false
        /// When the notification queue may be measured again.
        var queueDue = ContinuousClock.now
    }

    /// The pause after a measurement of the notification queue that took too long.
    private static let queuePause = Duration.seconds(15)

    private let options: PostgresOptions
    private let links: PostgresLinks
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let look: @Sendable () -> Void
    private let queue = DispatchQueue(label: "gapless.postgres.watch")
    private let wakeup = Wakeup()
    private let state = Mutex(State())

    /// - Parameter look: called when the feed must end.
    init(
        _ options: PostgresOptions, _ links: PostgresLinks,
        notice: @escaping @Sendable (UpstreamNotice) -> Void, look: @escaping @Sendable () -> Void
    ) {
        self.options = options
        self.links = links
        self.notice = notice
        self.look = look
    }

    func start() { queue.async { self.run() } }

    func stop() {
        state.withLock { $0.isEnded = true }
        wakeup.wake()
        queue.sync {}
    }

    /// A connection has reached another server than the feed's: looks now.
    func hurry() {
        state.withLock { $0.isHurried = true }
        wakeup.wake()
    }

    private var isEnded: Bool { state.withLock { $0.isEnded } }

    private func run() {
        while !isEnded {
            let due = ContinuousClock.now + options.verifyInterval
            while !isEnded, ContinuousClock.now < due {
                if state.withLock({ state in
                    defer { state.isHurried = false }
                    return state.isHurried
                }) {
                    break
                }
                _ = Wakeup.poll(nil, writing: false, wakeup, until: due)
            }
            if !isEnded { verify() }
        }
    }

    private func verify() {
        guard let feed = links.feed else { return }
        let hosts = (try? options.address()).flatMap { try? PostgresHosts($0).all } ?? []
        let asked: [PostgresHosts.Host?] = hosts.count > 1 ? hosts.map { $0 } : [nil]
        var others: [(server: String, identity: PostgresIdentity)] = []
        // Whether the feed's server may be one of those that the URL names.
        var mayBeNamed = false
        for host in asked {
            guard let session = try? PostgresSession(options, at: host, isCancelled: { isEnded })
            else {
                mayBeNamed = true
                continue
            }
            if session.identity == feed {
                mayBeNamed = true
                measureQueue(session)
            } else {
                others.append((session.connection.server, session.identity))
            }
        }
        // Of several servers the newest counts. Where the feed's is none of them, the URL says who
        // is the origin, whatever its history: a restored one may be older.
        let newest = others.first { other in
            !others.contains { $0.identity.follows(other.identity) }
                && (!mayBeNamed || other.identity.follows(feed))
        }
        guard let newest, links.feed == feed else { return }
        links.condemn(
            PostgresError(
                .stranger, doing: "listen to", on: "Postgres",
                seen: "\(newest.server) has taken over (timeline \(newest.identity.timeline))",
                detail: "the feed's server is another one, on timeline \(feed.timeline)"))
        look()
    }

    /// Measures the notification queue. The server first removes what nobody needs, which makes
    /// room in a full queue but can take a minute, and other callers wait meanwhile. So one
    /// connection asks, and nothing else depends on it.
    private func measureQueue(_ session: PostgresSession) {
        guard state.withLock({ $0.queueDue }) <= .now else { return }
        let answer = try? session.connection.exchange(
            [.init("select pg_notification_queue_usage()")], until: .now + options.deadline)
        guard let usage = answer?.first?.text(0, 0).flatMap({ Double($0) }) else {
            return state.withLock { $0.queueDue = .now + Self.queuePause }
        }
        links.queue = usage
    }
}
