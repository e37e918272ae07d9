import Crypto
import Dispatch
import Ports
import Synchronization
import Wire

/// Requests to disconnect a user, for all gateways of an origin: published to all, and kept for an
/// hour for those that were cut off. A gateway whose links are back reads what it missed before the
/// upstream is online. The requests are a Redis stream, whose ids rise with the server's clock; no
/// gateway's clock decides anything. Any thread.
final class DisconnectWatch: Sendable {
    /// The entries of one read.
    private static let page = 1000

    /// How far before the newest known entry a read starts (ms): a master that took over may lack
    /// some, and its clock may be behind.
    private static let overlap = 60_000

    /// How long to wait before it is read again.
    private static let patience = DispatchTimeInterval.milliseconds(200)

    /// How long the origin keeps entries, in milliseconds.
    fileprivate static let kept = 3_600_000

    /// The least number of entries that are remembered.
    fileprivate static let remembered = 10_000

    fileprivate struct State {
        /// The generation whose feed has disconnects.
        var listening = 0
        /// The generation for which all entries are known.
        var current = 0
        var isReading = false
        /// The refusal that was logged last.
        var refusal: String?
        /// The newest known entry, in milliseconds of the server's clock; nil before the first.
        var newest: Int?
        /// Entries that were acted on, or need not be, with their times.
        var done: [String: Int] = [:]
        /// Nonces of this gateway's own requests.
        var own: Set<String> = []
        weak var servers: (any RedisServers)?
    }

    private let keys: RedisKeys
    private let publishing: [UInt8]
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let began = ContinuousClock.now
    private let state = Mutex(State())

    init(
        _ options: RedisOptions, notice: @escaping @Sendable (UpstreamNotice) -> Void,
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

    /// Sends the request to all other gateways.
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

    /// The feed has disconnects from here on.
    func listens(in generation: Int) { state.withLock { $0.listening = generation } }

    /// Takes an event of the feed.
    func heard(_ event: [UInt8]) {
        guard let entry = RedisEvent.disconnect(event) else {
            return notice(UpstreamNotice(.feedEventUnreadable, "an event that is none"))
        }
        act(on: [entry], since: nil)
    }

    /// Whether all requests are known; if not, starts to read them.
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
        guard let servers = state.withLock({ $0.servers }) else { return end(in: nil) }
        guard case .success(let replies) = result else { return endLater(in: generation, servers) }
        if let code = replies[0].errorCode {
            log(refusal: code)
            // A gateway without the right to read the stream, or with something else in its place,
            // is ready without it; after other errors it is read again.
            guard ["NOPERM", "WRONGTYPE"].contains(code) else {
                return endLater(in: generation, servers)
            }
            return end(in: generation)
        }
        state.withLock { $0.refusal = nil }
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

    private func log(refusal code: String) {
        let isNews = state.withLock { state in
            defer { state.refusal = code }
            return state.refusal != code
        }
        guard isNews else { return }
        notice(
            UpstreamNotice(
                .disconnectsUnreadable, "read whom to disconnect from Redis: refused (\(code))"))
    }

    /// It could not be read: it is read again in a while, or at once beside the next feed.
    private func endLater(in generation: Int, _ servers: any RedisServers) {
        guard servers.generation(of: .disconnects) == generation else { return end(in: nil) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.end(in: nil) }
    }

    private func end(in generation: Int?) {
        let servers = state.withLock { state in
            state.isReading = false
            if let generation { state.current = generation }
            return state.servers
        }
        servers?.look()
    }

    /// - Parameter began: the start of this process by the server's clock: older entries don't
    ///   concern it. Nil: all do.
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
    /// Remembers the entry.
    /// - Returns: whether it is new.
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

/// A user to be disconnected by all gateways.
struct DisconnectEntry {
    /// The id in the stream.
    var id: String
    /// Milliseconds of the server's clock.
    var moment: Int
    var user: String
    var mayComeBack: Bool
    /// Identifies the request to the gateway that made it.
    var nonce: String

    init?(id: String, user: String, mayComeBack: Bool, nonce: String) {
        guard let moment = Self.moment(of: id) else { return nil }
        self.id = id
        self.moment = moment
        self.user = user
        self.mayComeBack = mayComeBack
        self.nonce = nonce
    }

    /// An entry of the stream: its id, then names and values.
    init?(_ reply: RedisReply) {
        let parts = reply.elements
        guard parts.count == 2, let id = parts[0].string else { return nil }
        let texts = parts[1].elements.compactMap(\.string)
        guard texts.count == 6 else { return nil }
        self.init(id: id, user: texts[1], mayComeBack: texts[3] == "1", nonce: texts[5])
    }

    static func moment(of id: String) -> Int? { Int(id.prefix { $0 != "-" }) }
}
