import Synchronization

/// Numbers of generations, which only rise; all shards of an upstream share one counter.
final class Generations: Sendable {
    private let last = Atomic<Int>(0)

    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}

/// Present problems by subject, for health, and for the log, which names each once.
final class Troubles: Sendable {
    private struct Trouble {
        let text: String
        var toldAt: ContinuousClock.Instant
        /// Repeats since it was logged.
        var count = 0
    }

    /// How often a lasting problem is logged again.
    static let minute = Duration.seconds(60)

    private let all = Mutex<[String: Trouble]>([:])
    private let seen = Mutex(UpstreamFaults())
    private let refusing = Atomic(false)
    private let refusingReads = Atomic(false)
    let damagedLogs = DamagedLogs()

    /// The counters.
    var faults: UpstreamFaults { seen.withLock { $0 } }

    func gave(_ reason: NewEpochReason) {
        seen.withLock { $0.newEpochs[reason, default: 0] += 1 }
    }

    /// The server refused a write.
    func refused(_ kind: RefusedWrite) {
        seen.withLock { $0.refusedWrites[kind, default: 0] += 1 }
        // These are the server's state, and don't depend on the caller or the command.
        if [.oom, .misconf, .noreplicas].contains(kind) {
            refusing.store(true, ordering: .relaxed)
        }
    }

    /// The server answered a question with an error.
    /// - Returns: as `line`.
    func refusedRead(_ text: String) -> String? {
        refusingReads.store(true, ordering: .relaxed)
        return line("reads", text)
    }

    /// The server answers questions.
    func takesReads() {
        guard refusingReads.load(ordering: .relaxed) else { return }
        refusingReads.store(false, ordering: .relaxed)
        _ = isOver("reads")
    }

    /// Whether the server refuses writes, as far as is known.
    var isRefusing: Bool { refusing.load(ordering: .relaxed) }

    /// The server accepts writes.
    func takesWrites() {
        refusing.store(false, ordering: .relaxed)
        _ = isOver("writes")
    }

    /// Removes a problem.
    /// - Returns: whether it was there.
    func isOver(_ what: String) -> Bool { all.withLock { $0.removeValue(forKey: what) != nil } }

    /// Records a problem.
    ///
    /// - Returns: the line to log, if the problem is new, or was logged a minute ago or earlier.
    func line(
        _ what: String, _ text: String, at now: ContinuousClock.Instant = .now
    ) -> String? {
        all.withLock { all in
            guard var trouble = all[what], trouble.text == text else {
                all[what] = Trouble(text: text, toldAt: now)
                return text
            }
            trouble.count += 1
            defer { all[what] = trouble }
            guard now - trouble.toldAt >= Self.minute else { return nil }
            let count = trouble.count
            (trouble.toldAt, trouble.count) = (now, 0)
            return "\(text) (still so, \(count) times since it was last told)"
        }
    }

    var first: String? {
        all.withLock { $0.min { $0.key < $1.key }?.value.text }
            ?? damagedLogs.trouble
    }
}

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

    /// Whether the server refuses writes, as far as is known.
    var refusesWrites: Bool { troubles.isRefusing }

    /// The server accepts writes again.
    func takesWrites() { troubles.takesWrites() }

    /// Records, for health, why a link is down.
    ///
    /// - Returns: the line to log, if any.
    func line(_ link: String, _ trouble: String) -> String? {
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
    /// Why there is no master; nil if there may be one.
    var trouble: String? { get }
    func start()
    func stop()
}

extension MasterSource {
    func origin() -> String { "origin" }

    var trouble: String? { nil }
}

/// The configured server.
struct FixedMaster: MasterSource {
    let address: RedisOptions.Address

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? { address }
    func start() {}
    func stop() {}
}
