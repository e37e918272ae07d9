import Postgres
import Synchronization

/// The identity of a server and its history. Two connections with the same identity see one log: a
/// promotion changes the timeline, a restart the start time, and a copy that runs elsewhere has
/// another start time too.
struct PostgresIdentity: Sendable, Hashable {
    var system: String
    var timeline: Int
    var started: Int
}

/// The state shared by all connections' threads: which server the feed comes from, and its
/// generation. Nothing is called while its lock is held.
final class PostgresLinks: Sendable {
    private struct State {
        var feed: PostgresIdentity?
        var generation = 0
        /// The servers of the worker connections, by worker number.
        var workers: [Int: PostgresIdentity] = [:]
        var heardAt: ContinuousClock.Instant?
        /// Why the feed's server no longer counts, although it may still answer.
        var rejection: PostgresError?
        /// The host to connect to, of several.
        var pinned: PostgresHosts.Host?
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

    /// The host to connect to, of several; nil: libpq chooses.
    var pinned: PostgresHosts.Host? { state.withLock { $0.pinned } }

    /// How full the server's notification queue is, from 0 to 1.
    var queue: Double {
        get { state.withLock { $0.queue } }
        set { state.withLock { $0.queue = newValue } }
    }

    /// Begins a generation and gives its number.
    func feedOpened(_ identity: PostgresIdentity) -> Int {
        let generation = generations.next()
        state.withLock {
            $0.feed = identity
            $0.generation = generation
            $0.rejection = nil
            $0.upAt = .now
        }
        return generation
    }

    func feedClosed() {
        state.withLock {
            $0.feed = nil
            // If the chosen host does not answer, libpq must choose again.
            if $0.rejection == nil { $0.pinned = nil }
            $0.rejection = nil
        }
    }

    func feedHeard() { state.withLock { $0.heardAt = .now } }

    /// Another server has taken over.
    func condemn(_ error: PostgresError, for host: PostgresHosts.Host?) {
        state.withLock {
            $0.rejection = error
            $0.pinned = host
        }
    }

    /// Whether a connection to this server may be used: it is the feed's server, or there is no
    /// feed.
    func admits(_ identity: PostgresIdentity) -> Bool {
        state.withLock { $0.feed == nil || $0.feed == identity }
    }

    func worker(_ number: Int, is identity: PostgresIdentity?) {
        state.withLock { $0.workers[number] = identity }
    }
}
