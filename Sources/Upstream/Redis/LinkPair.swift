import Synchronization

/// The state of a shard's two links, shared by their threads: which server each is connected to,
/// and which generation of the feed that makes. Nothing is called while its lock is held.
final class LinkPair: Sendable {
    private struct State {
        var feed: RedisIdentity?
        var commands: RedisIdentity?
        /// The generation of the feed, whether it is up or not; rises with each.
        var generation = 0
        /// When the last question was sent that the server answered with the same identity. The
        /// feed's connection can't be asked, so this comes from the commands.
        var confirmedAt: ContinuousClock.Instant?
        /// Whether both links were connected to the same data in this generation.
        var wasWhole = false
        var heardAt: ContinuousClock.Instant?
        /// When each link came up last.
        var feedUpAt: ContinuousClock.Instant?
        var commandsUpAt: ContinuousClock.Instant?
    }

    /// One of the two links.
    enum Link { case feed, commands }

    private let generations: Generations
    private let troubles: Troubles
    /// The prefix of these links' problems: a node's address, or nothing.
    private let label: String

    private let state = Mutex(State())

    init(_ generations: Generations = Generations(), _ troubles: Troubles, label: String = "") {
        self.generations = generations
        self.troubles = troubles
        self.label = label
    }

    /// The feed's generation, if commands go to the same data; otherwise 0.
    var generation: Int {
        state.withLock { $0.feed != nil && $0.feed == $0.commands ? $0.generation : 0 }
    }

    /// Whether both links are up, with the same data.
    var isOnline: Bool { generation != 0 }

    /// Whether the links are connected to different data: one of them must reconnect.
    var isTorn: Bool {
        state.withLock { $0.feed != nil && $0.commands != nil && $0.feed != $0.commands }
    }

    /// Whether the identity of the feed's server has not been confirmed within the lease.
    func isDoubtful(at now: ContinuousClock.Instant, lease: Duration) -> Bool {
        state.withLock { state in
            state.feed != nil && state.wasWhole
                && state.confirmedAt.map { $0 + lease < now } ?? true
        }
    }

    /// Begins a generation and gives its number.
    func feedOpened(_ identity: RedisIdentity) -> Int {
        let generation = generations.next()
        state.withLock {
            $0.feed = identity
            $0.feedUpAt = .now
            $0.generation = generation
            $0.wasWhole = $0.commands == identity
        }
        return generation
    }

    func feedClosed() { state.withLock { $0.feed = nil } }

    /// Bytes have come from the feed.
    func feedHeard(at moment: ContinuousClock.Instant) { state.withLock { $0.heardAt = moment } }

    /// When bytes last came from the feed.
    var heardAt: ContinuousClock.Instant? { state.withLock { $0.heardAt } }

    /// The server has confirmed its identity.
    /// - Parameter askedAt: before it was asked.
    func confirmed(_ identity: RedisIdentity, askedAt: ContinuousClock.Instant) {
        state.withLock {
            if $0.commands == nil { $0.commandsUpAt = .now }
            $0.commands = identity
            $0.confirmedAt = askedAt
            if $0.feed == identity { $0.wasWhole = true }
        }
    }

    /// - Parameter isDemoted: whether the server is no longer the master.
    func commandsClosed(isDemoted: Bool) {
        state.withLock {
            $0.commands = nil
            if isDemoted { $0.confirmedAt = nil }
        }
    }

    /// Whether the other link has come up since this one tried, so that the server is there.
    func hasUp(besides link: Link, since tried: ContinuousClock.Instant) -> Bool {
        let upAt = state.withLock { link == .feed ? $0.commandsUpAt : $0.feedUpAt }
        return upAt.map { $0 > tried } ?? false
    }

    /// The server would accept a write now, and its user has all rights that it needs.
    func accepts() {
        _ = isOver("server")
        _ = troubles.isOver("server")
    }

    /// Records, for health, why a link is down.
    ///
    /// - Returns: the line to log, if any.
    func line(_ link: String, _ trouble: UpstreamNotice) -> UpstreamNotice? {
        troubles.line("\(label) \(link)", trouble)
    }

    /// The link is up.
    /// - Returns: whether it was down.
    func isOver(_ link: String) -> Bool { troubles.isOver("\(label) \(link)") }
}

/// Names the master.
protocol MasterSource: Sendable {
    /// The master's address; nil while no server may be taken for it.
    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address?
    /// The key, without the prefix, of the random id that lies beside the data.
    func origin() -> String
    /// Whether who knows the master may still answer for the first time; a link waits for that.
    func isUndecided(at now: ContinuousClock.Instant) -> Bool
    /// Why there is no master; nil if there may be one.
    var trouble: UpstreamNotice? { get }
    func start()
    func stop()
}

extension MasterSource {
    func origin() -> String { "origin" }

    func isUndecided(at now: ContinuousClock.Instant) -> Bool { false }

    var trouble: UpstreamNotice? { nil }
}

/// The configured server.
struct FixedMaster: MasterSource {
    let address: RedisOptions.Address

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? { address }
    func start() {}
    func stop() {}
}
