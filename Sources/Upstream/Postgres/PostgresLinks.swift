import Postgres
import Synchronization

/// The identity of a server and its history. Two connections with the same identity see one log: a
/// promotion changes the timeline, a restart the start time, and a copy that runs elsewhere has
/// another start time too.
struct PostgresIdentity: Sendable, Hashable {
    var system: String
    var timeline: Int
    var started: Int

    /// Whether it has taken the place of another one of its cluster: promoted, or started, later.
    func follows(_ other: PostgresIdentity) -> Bool {
        system == other.system && (timeline, started) > (other.timeline, other.started)
    }
}

/// The state shared by all connections' threads: which server the feed comes from, and its
/// generation. Nothing is called while its lock is held.
final class PostgresLinks: Sendable {
    private struct State {
        var feed: PostgresIdentity?
        /// The server that the listener is connected to; its feed may not have begun yet.
        var chosen: PostgresIdentity?
        /// Whether its last attempt to connect failed.
        var isShutOut = false
        var generation = 0
        /// The servers of the worker connections, by worker number.
        var workers: [Int: PostgresIdentity] = [:]
        var heardAt: ContinuousClock.Instant?
        /// Why the feed's server no longer counts, although it may still answer.
        var rejection: PostgresError?
        /// The host of the listener, of several.
        var host: PostgresHosts.Host?
        var upAt: ContinuousClock.Instant?
        var queue = 0.0
    }

    private let generations = Generations()
    private let state = Mutex(State())

    /// The generation of the live feed; 0 while there is none.
    var generation: Int { state.withLock { $0.feed == nil ? 0 : $0.generation } }

    /// Whether the feed is live and its server can be asked.
    var isOnline: Bool {
        state.withLock { state in
            state.feed != nil && state.workers.values.contains { $0 == state.feed }
        }
    }

    /// The server of the feed; nil while there is none.
    var feed: PostgresIdentity? { state.withLock { $0.feed } }

    /// When bytes last came from the feed.
    var heardAt: ContinuousClock.Instant? { state.withLock { $0.heardAt } }

    /// When the feed came up last.
    var upAt: ContinuousClock.Instant? { state.withLock { $0.upAt } }

    /// Why the feed must end; nil if it need not.
    var rejection: PostgresError? { state.withLock { $0.rejection } }

    /// Whether the listener has a server. It connects first, so that no other connection takes the
    /// place that is left for it, or chooses another server.
    var hasServer: Bool { state.withLock { $0.chosen != nil } }

    /// Whether the listener can't connect. Where connections are few, others may have its place.
    var isShutOut: Bool { state.withLock { $0.isShutOut } }

    /// The host of the listener, of several; nil: libpq chooses.
    var host: PostgresHosts.Host? { state.withLock { $0.host } }

    /// How full the server's notification queue is, from 0 to 1.
    var queue: Double {
        get { state.withLock { $0.queue } }
        set { state.withLock { $0.queue = newValue } }
    }

    /// The listener is connected.
    func chose(_ identity: PostgresIdentity, at host: PostgresHosts.Host?) {
        state.withLock {
            $0.chosen = identity
            $0.isShutOut = false
            $0.host = host
        }
    }

    /// Begins a generation and gives its number.
    func feedOpened(_ identity: PostgresIdentity) -> Int {
        let generation = generations.next()
        state.withLock {
            $0.feed = identity
            $0.chosen = identity
            $0.generation = generation
            $0.rejection = nil
            $0.upAt = .now
        }
        return generation
    }

    func feedClosed() {
        state.withLock {
            $0.isShutOut = $0.chosen == nil
            $0.feed = nil
            $0.chosen = nil
            $0.rejection = nil
        }
    }

    func feedHeard() { state.withLock { $0.heardAt = .now } }

    /// Another server has taken over.
    func condemn(_ error: PostgresError) { state.withLock { $0.rejection = error } }

    /// Whether a connection to this server may be used: it is the listener's, or there is none.
    func admits(_ identity: PostgresIdentity) -> Bool {
        state.withLock { $0.chosen == nil || $0.chosen == identity }
    }

    func worker(_ number: Int, is identity: PostgresIdentity?) {
        state.withLock { $0.workers[number] = identity }
    }
}
