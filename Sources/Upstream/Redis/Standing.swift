import Synchronization

/// How the two links stand to each other, for both of their threads: which server each speaks to,
/// and which generation of the feed that makes. Nothing is called while its lock is held.
final class Standing: Sendable {
    private struct State {
        var feed: RedisIdentity?
        var commands: RedisIdentity?
        /// Of the feed, whether it is up or not; rises with each.
        var generation = 0
        var trouble: [String: String] = [:]
    }

    private let state = Mutex(State())

    /// The feed's generation, if questions go to the same data that it tells of; otherwise 0.
    var generation: Int {
        state.withLock { $0.feed != nil && $0.feed == $0.commands ? $0.generation : 0 }
    }

    /// Whether both links are up, and at the same data.
    var isOnline: Bool { generation != 0 }

    /// Whether the links are up at different data: one of them must look again.
    var isTorn: Bool {
        state.withLock { $0.feed != nil && $0.commands != nil && $0.feed != $0.commands }
    }

    /// Begins a generation and gives its number.
    func feedOpened(_ identity: RedisIdentity) -> Int {
        state.withLock {
            $0.feed = identity
            $0.generation += 1
            return $0.generation
        }
    }

    func feedClosed() { state.withLock { $0.feed = nil } }

    /// Gives what the commands spoke to before.
    func commandsOpened(_ identity: RedisIdentity) {
        state.withLock { $0.commands = identity }
    }

    func commandsClosed() { state.withLock { $0.commands = nil } }

    /// Keeps, for health, what keeps a link from being up (nil: nothing). Whether it is news.
    func note(_ link: String, _ trouble: String?) -> Bool {
        state.withLock { state in
            defer { state.trouble[link] = trouble }
            return state.trouble[link] != trouble
        }
    }

    var trouble: String? {
        state.withLock { $0.trouble.sorted { $0.key < $1.key }.first?.value }
    }
}

/// Who names the server that counts.
protocol MasterSource: Sendable {
    /// The master's address, or nil while nobody may be taken for it.
    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address?
    func start()
    func stop()
}

/// The one server that the configuration names.
struct FixedMaster: MasterSource {
    let address: RedisOptions.Address

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? { address }
    func start() {}
    func stop() {}
}
