import Synchronization

/// Numbers for generations, which only rise; all shards of an upstream draw from one.
final class Generations: Sendable {
    private let last = Atomic<Int>(0)

    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}

/// What is wrong now, by what it is wrong with, for health and for a log that says it once.
final class Troubles: Sendable {
    private struct Trouble {
        let text: String
        var toldAt: ContinuousClock.Instant
        /// How often since it was told.
        var count = 0
    }

    /// How often a trouble that lasts is told again.
    static let minute = Duration.seconds(60)

    private let all = Mutex<[String: Trouble]>([:])
    private let seen = Mutex(UpstreamFaults())
    private let refusing = Atomic(false)
    let damagedLogs = DamagedLogs()

    /// What is counted.
    var faults: UpstreamFaults { seen.withLock { $0 } }

    func gave(_ reason: NewEpochReason) {
        seen.withLock { $0.newEpochs[reason, default: 0] += 1 }
    }

    /// The server did not take a write.
    func refused(_ kind: RefusedWrite) {
        seen.withLock { $0.refusedWrites[kind, default: 0] += 1 }
        // What is so of the server, and not of the one who asks or of what is asked for.
        if [.oom, .misconf, .noreplicas].contains(kind) {
            refusing.store(true, ordering: .relaxed)
        }
    }

    /// Whether the server takes no writes, as far as is known.
    var isRefusing: Bool { refusing.load(ordering: .relaxed) }

    /// The server takes writes.
    func takesWrites() {
        refusing.store(false, ordering: .relaxed)
        _ = isOver("writes")
    }

    /// Something is in order. Whether that is news.
    func isOver(_ what: String) -> Bool { all.withLock { $0.removeValue(forKey: what) != nil } }

    /// Keeps what is wrong.
    ///
    /// - Returns: the line that the log is to have, if it is news, or was told a minute ago.
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

/// How the two links stand to each other, for both of their threads: which server each speaks to,
/// and which generation of the feed that makes. Nothing is called while its lock is held.
final class LinkPair: Sendable {
    private struct State {
        var feed: RedisIdentity?
        var commands: RedisIdentity?
        /// Of the feed, whether it is up or not; rises with each.
        var generation = 0
        /// When a question was sent that the server has answered as the one it was: a connection
        /// that listens can't be asked.
        var confirmedAt: ContinuousClock.Instant?
        /// Whether both links were at the same data in this generation.
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
    /// What the troubles of these links are called: the address of a node, or nothing.
    private let label: String

    private let state = Mutex(State())

    init(_ generations: Generations = Generations(), _ troubles: Troubles, label: String = "") {
        self.generations = generations
        self.troubles = troubles
        self.label = label
    }

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

    /// Whether nobody vouches any more for the server that the feed comes from.
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

    /// The server has said who it is.
    /// - Parameter askedAt: before it was asked.
    func confirmed(_ identity: RedisIdentity, askedAt: ContinuousClock.Instant) {
        state.withLock {
            if $0.commands == nil { $0.commandsUpAt = .now }
            $0.commands = identity
            $0.confirmedAt = askedAt
            if $0.feed == identity { $0.wasWhole = true }
        }
    }

    /// - Parameter isDemoted: whether the server is none any more that counts.
    func commandsClosed(isDemoted: Bool) {
        state.withLock {
            $0.commands = nil
            if isDemoted { $0.confirmedAt = nil }
        }
    }

    /// Whether the other link has come up since this one tried: the server is there.
    func hasUp(besides link: Link, since tried: ContinuousClock.Instant) -> Bool {
        let upAt = state.withLock { link == .feed ? $0.commandsUpAt : $0.feedUpAt }
        return upAt.map { $0 > tried } ?? false
    }

    /// Whether the server takes no writes, as far as is known.
    var refusesWrites: Bool { troubles.isRefusing }

    /// The server takes writes again.
    func takesWrites() { troubles.takesWrites() }

    /// Keeps, for health, what keeps a link from being up.
    ///
    /// - Returns: the line that the log is to have of it, if any.
    func line(_ link: String, _ trouble: String) -> String? {
        troubles.line("\(label) \(link)", trouble)
    }

    /// The link is in order. Whether that is news.
    func isOver(_ link: String) -> Bool { troubles.isOver("\(label) \(link)") }
}

/// Who names the server that counts.
protocol MasterSource: Sendable {
    /// The master's address, or nil while nobody may be taken for it.
    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address?
    /// The name of the key of the random id that lies beside the data, without the prefix.
    func origin() -> String
    /// Why nobody is; nil where somebody may be.
    var trouble: String? { get }
    func start()
    func stop()
}

extension MasterSource {
    func origin() -> String { "origin" }

    var trouble: String? { nil }
}

/// The one server that the configuration names.
struct FixedMaster: MasterSource {
    let address: RedisOptions.Address

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? { address }
    func start() {}
    func stop() {}
}
