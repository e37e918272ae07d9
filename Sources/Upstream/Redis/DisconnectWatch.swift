import Crypto
import Synchronization
import Wire

/// Whom the gateways of one origin are to disconnect: told to all of them, and kept for an hour for
/// those that were cut off. A gateway whose links come back reads what it missed before the
/// upstream is online. What is read is a stream of Redis, whose ids rise with the server's clock;
/// no clock of a gateway decides anything. Any thread.
final class DisconnectWatch: Sendable {
    /// How many entries are read at once.
    private static let page = 1000

    /// How far before the newest one known is read again: a master that took over may lack some,
    /// and its clock may be behind.
    private static let overlap = 60_000

    /// As long as the origin keeps them, in milliseconds.
    fileprivate static let kept = 3_600_000

    /// Entries that are remembered at least.
    fileprivate static let remembered = 10_000

    fileprivate struct State {
        /// The feed of this generation tells of disconnects.
        var listening = 0
        /// Of this one all is known.
        var current = 0
        var isReading = false
        /// The newest entry known, as milliseconds of the server's clock; nil until the first.
        var newest: Int?
        /// Entries that were acted upon or need not be, with their moments.
        var done: [String: Int] = [:]
        /// What this gateway tells itself.
        var own: Set<String> = []
        weak var servers: (any RedisServers)?
    }

    private let keys: RedisKeys
    private let publishing: [UInt8]
    private let notice: @Sendable (RedisNotice) -> Void
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let began = ContinuousClock.now
    private let state = Mutex(State())

    init(
        _ options: RedisOptions, notice: @escaping @Sendable (RedisNotice) -> Void,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void
    ) {
        keys = RedisKeys(options)
        publishing = options.publishing
        self.notice = notice
        self.deliver = deliver
    }

    /// To be called once, before the servers start.
    func attach(_ servers: any RedisServers) {
        state.withLock { $0.servers = servers }
        servers.want(.disconnects, true)
    }

    // MARK: telling

    /// Tells every other gateway.
    func tell(
        _ user: String, mayComeBack: Bool,
        then: @escaping @Sendable (Result<[RedisReply], RequestError>) -> Void
    ) {
        guard let servers = state.withLock({ $0.servers }) else {
            return then(.failure(.originUnavailable))
        }
        let nonce = Random.hex(8)
        state.withLock { _ = $0.own.insert(nonce) }
        let texts = [user, mayComeBack ? "1" : "0", nonce]
        let arguments =
            [publishing, keys.channel(of: .disconnects)] + texts.map { Array($0.utf8) }
            + [RedisEvent.pack(texts)]
        let command = RedisCommand.script(
            .disconnect, keys: [keys.disconnects], arguments: arguments)
        servers.send([command]) { result in
            self.state.withLock { state in
                state.own.remove(nonce)
                if case .success(let replies) = result, let id = replies[0].elements.last?.string {
                    _ = state.note(id)
                }
            }
            then(result)
        }
    }

    // MARK: hearing

    /// The feed tells of disconnects from here on.
    func listens(in generation: Int) { state.withLock { $0.listening = generation } }

    /// What the feed tells.
    func heard(_ event: [UInt8]) {
        guard let entry = RedisEvent.disconnect(event) else {
            return notice(RedisNotice(.warning, "an event of the feed can't be read"))
        }
        act(on: [entry], since: nil)
    }

    /// Whether everything that was told is known; if not, it is read.
    func isCurrent() -> Bool {
        let servers = state.withLock { $0.servers }
        guard let servers else { return false }
        let generation = servers.generation(of: .disconnects)
        guard generation != 0 else { return false }
        let (isCurrent, from) = state.withLock { state -> (Bool, String?) in
            if state.current == generation { return (true, nil) }
            guard state.listening == generation, !state.isReading else { return (false, nil) }
            state.isReading = true
            return (false, state.newest.map { "\(max(0, $0 - Self.overlap))" } ?? "-")
        }
        if let from { read(from: from, in: generation, servers) }
        return isCurrent
    }

    private func read(from: String, in generation: Int, _ servers: any RedisServers) {
        let arguments = [from, "\(Self.page)"].map { Array($0.utf8) }
        let question = RedisCommand.script(
            .disconnects, keys: [keys.disconnects], arguments: arguments)
        servers.send([question]) { result in
            self.took(result, in: generation)
        }
    }

    private func took(_ result: Result<[RedisReply], RequestError>, in generation: Int) {
        guard case .success(let replies) = result, let servers = state.withLock({ $0.servers })
        else { return end(in: nil) }
        if let code = replies[0].errorCode {
            notice(RedisNotice(.error, "read whom to disconnect from Redis: refused (\(code))"))
            // Whoever may not read it is ready without it; everything else is asked again.
            return end(in: code == "NOPERM" ? generation : nil)
        }
        let parts = replies[0].elements
        guard parts.count == 3, let now = parts[1].int else { return end(in: generation) }
        let (seconds, _) = (ContinuousClock.now - began).components
        let entries = parts[2].elements.compactMap { DisconnectEntry($0) }
        act(on: entries, since: now - Int(seconds + 1) * 1000)
        state.withLock { $0.newest = max($0.newest ?? 0, entries.last?.moment ?? 0) }
        guard parts[2].elements.count == Self.page, let last = entries.last else {
            return end(in: generation)
        }
        read(from: "(" + last.id, in: generation, servers)
    }

    private func end(in generation: Int?) {
        let servers = state.withLock { state in
            state.isReading = false
            if let generation { state.current = generation }
            return state.servers
        }
        servers?.look()
    }

    /// - Parameter began: entries of before this are of no concern: at that moment of the server's
    ///   clock this process was not there. Nil: all are.
    private func act(on entries: [DisconnectEntry], since began: Int?) {
        let new = state.withLock { state in
            entries.filter { entry in
                let isNew = state.note(entry.id)
                let isOwn = state.own.contains(entry.nonce)
                return isNew && !isOwn && entry.moment >= began ?? 0
            }
        }
        deliver(
            new.map { .disconnect(user: $0.user, mayComeBack: $0.mayComeBack) })
    }
}

extension DisconnectWatch.State {
    /// Remembers the entry. Whether it is the first time.
    fileprivate mutating func note(_ id: String) -> Bool {
        guard let moment = DisconnectEntry.moment(of: id),
            done.updateValue(moment, forKey: id) == nil
        else { return false }
        if done.count > 2 * DisconnectWatch.remembered {
            let oldest = (done.values.max() ?? 0) - DisconnectWatch.kept
            done = done.filter { $0.value >= oldest }
        }
        return true
    }
}

/// Somebody whom all gateways are to disconnect.
struct DisconnectEntry {
    /// Of the stream.
    var id: String
    /// In milliseconds, of the server's clock.
    var moment: Int
    var user: String
    var mayComeBack: Bool
    /// Says which gateway told it.
    var nonce: String

    init?(id: String, user: String, mayComeBack: Bool, nonce: String) {
        guard let moment = Self.moment(of: id) else { return nil }
        self.id = id
        self.moment = moment
        self.user = user
        self.mayComeBack = mayComeBack
        self.nonce = nonce
    }

    /// An entry of the stream, as it is read: its id, and names and values.
    init?(_ reply: RedisReply) {
        let parts = reply.elements
        guard parts.count == 2, let id = parts[0].string else { return nil }
        let texts = parts[1].elements.compactMap(\.string)
        guard texts.count == 6 else { return nil }
        self.init(id: id, user: texts[1], mayComeBack: texts[3] == "1", nonce: texts[5])
    }

    static func moment(of id: String) -> Int? { Int(id.prefix { $0 != "-" }) }
}
