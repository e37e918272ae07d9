import Chat
import Crypto
import Dispatch
import JSON
import Ports
import Synchronization
import Wire

/// Events that are no changes of a log: read markers and typing, sent at most once per user and
/// second, and requests to disconnect a user. They use a channel of their own; read markers and
/// typing go in transactions that a crash of the server may lose. Any thread.
final class PostgresSignals: Sendable {
    /// The shortest time between two signals of a user.
    private static let pace = Duration.seconds(1)
    /// The most bytes of a payload: Postgres limits notifications to 8000.
    private static let longest = 7000
    /// The least number of handled entries that are remembered.
    private static let remembered = 10_000

    private struct SentSignals {
        var at: ContinuousClock.Instant
        /// Signals to send in the next second, the newest of each kind and conversation.
        var waiting: [(key: String, json: [UInt8])] = []
    }

    private struct State {
        var users: [ID: SentSignals] = [:]
        var listening = 0
        var current = 0
        var isReading = false
        /// Whether a new request was signalled during a read.
        var isStale = false
        /// Where the next read begins; nil: at the oldest entry that is kept. Another server may
        /// have fewer, and continue numbering from there.
        var newest: Int?
        var own: Set<String> = []
        /// Entries that were acted on, or need not be, by nonce.
        var done: [String: Int] = [:]
    }

    private let pool: PostgresPool
    private let links: PostgresLinks
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let tell: @Sendable ([FeedEvent]) -> Void
    private let queue = DispatchQueue(label: "gapless.postgres.signals")
    private let began = ContinuousClock.now
    private let state = Mutex(State())
    /// Called when all requests may be known.
    private let changed: @Sendable () -> Void

    init(
        _ pool: PostgresPool, _ links: PostgresLinks,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void,
        tell: @escaping @Sendable ([FeedEvent]) -> Void, changed: @escaping @Sendable () -> Void
    ) {
        self.pool = pool
        self.links = links
        self.deliver = deliver
        self.tell = tell
        self.changed = changed
    }

    // MARK: ringing

    func typing(_ conversation: String, _ user: String, _ state: TypingState, at: Timestamp) {
        ring(user, key: "t" + conversation) { json in
            json.member("c", string: conversation)
            json.member("u", string: user)
            json.member("state", string: state.rawValue)
            json.member("at", int: Int(at.milliseconds))
        }
    }

    func read(_ conversation: String, _ user: String, _ seq: Int) {
        ring(user, key: "r" + conversation) { json in
            json.member("c", string: conversation)
            json.member("u", string: user)
            json.member("seq", int: seq)
        }
    }

    private func ring(_ user: String, key: String, _ members: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.beginObject()
        members(&json)
        json.endObject()
        let bytes = json.bytes
        let wait = state.withLock { state -> Duration? in
            let now = ContinuousClock.now
            if var told = state.users[user.id] {
                let isDue = told.waiting.isEmpty && told.at + Self.pace <= now
                let isScheduled = !told.waiting.isEmpty
                told.waiting.removeAll { $0.key == key }
                told.waiting.append((key, bytes))
                state.users[user.id] = told
                return isScheduled ? nil : isDue ? .zero : told.at + Self.pace - now
            }
            state.users[user.id] = SentSignals(at: now, waiting: [(key, bytes)])
            return .zero
        }
        guard let wait else { return }
        if wait <= .zero { return flush(user) }
        let nanoseconds = Int(wait / .nanoseconds(1))
        queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
            self?.flush(user)
        }
    }

    /// Sends a user's pending signals, in as few payloads as possible.
    private func flush(_ user: String) {
        let waiting = state.withLock { state -> [[UInt8]] in
            guard let told = state.users[user.id] else { return [] }
            state.users[user.id] = SentSignals(at: .now)
            if state.users.count > Self.remembered {
                let recent = ContinuousClock.now - Self.pace
                state.users = state.users.filter {
                    !$0.value.waiting.isEmpty || $0.value.at > recent
                }
            }
            return told.waiting.map(\.json)
        }
        var rest = waiting[...]
        while !rest.isEmpty {
            var payload: [UInt8] = [UInt8(ascii: "[")]
            while let next = rest.first,
                payload.count == 1 || payload.count + next.count < Self.longest
            {
                if payload.count > 1 { payload.append(UInt8(ascii: ",")) }
                payload += next
                rest = rest.dropFirst()
            }
            payload.append(UInt8(ascii: "]"))
            var json = JSONWriter(capacity: payload.count + 64)
            json.beginObject()
            json.member("s", string: "ring")
            json.member("payload", string: String(decoding: payload, as: UTF8.self))
            json.endObject()
            pool.signal(json.bytes, isDurable: false) { _ in }
        }
    }

    // MARK: hearing

    func heard(_ payload: String) {
        let bytes = Array(payload.utf8)
        guard let signals = try? RawJSON(bytes) else { return }
        if signals.kind == .object { return refresh() }
        let events = (signals.array ?? []).compactMap { value -> FeedEvent? in
            guard let object = value.object, let conversation = object["c"]?.string,
                let user = object["u"]?.string
            else { return nil }
            if let seq = object["seq"]?.place {
                return .read(conversation: conversation, user: user, seq: seq)
            }
            guard let state = object["state"]?.string.flatMap(TypingState.init),
                let at = object["at"]?.int
            else { return nil }
            return .typing(
                conversation: conversation, user: user, state,
                at: Timestamp(milliseconds: Int64(at)))
        }
        if !events.isEmpty { tell(events) }
        let changed = (signals.array ?? []).flatMap { value in
            (value.object?["p"]?.array ?? []).compactMap(\.string)
        }
        if !changed.isEmpty { deliver([.presenceChanged(changed)]) }
    }

    // MARK: disconnects

    /// Asks all other gateways to disconnect the user.
    func disconnect(
        _ user: String, mayComeBack: Bool, then: @escaping @Sendable (Bool) -> Void
    ) {
        let nonce = Random.hex(8)
        state.withLock { _ = $0.own.insert(nonce) }
        var json = JSONWriter()
        json.beginObject()
        json.member("s", string: "disconnect")
        json.member("user", string: user)
        json.member("back", bool: mayComeBack)
        json.member("by", string: nonce)
        json.endObject()
        pool.signal(json.bytes, isDurable: true) { result in
            guard case .success(let answer) = result, answer.word == "done" else {
                return then(false)
            }
            then(true)
        }
    }

    /// The feed has disconnects from here on.
    func listens(in generation: Int) {
        state.withLock {
            $0.listening = generation
            $0.newest = nil
        }
        deliver([.presenceFollowed])
        refresh()
    }

    /// Whether all requests are known.
    var isCurrent: Bool {
        state.withLock { $0.current != 0 && $0.current == $0.listening }
    }

    /// Reads the requests that are not known yet.
    private func refresh() {
        let from = state.withLock { state -> (after: Int?, generation: Int)? in
            guard !state.isReading else {
                state.isStale = true
                return nil
            }
            state.isReading = true
            state.isStale = false
            // Numbers become visible in any order, so some known ones are read again.
            return (state.newest.map { max(0, $0 - Self.overlap) }, state.listening)
        }
        guard let from else { return }
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "disconnects")
        json.key("after")
        if let after = from.after { json.int(after) } else { json.null() }
        json.endObject()
        pool.read(json.bytes) { [self] result in took(result, from.generation) }
    }

    private func took(_ result: Result<PostgresAnswer, RequestError>, _ generation: Int) {
        guard case .success(let answer) = result, answer.word == "done" else {
            state.withLock { $0.isReading = false }
            // While not listening, the next generation reads it.
            guard links.generation != 0 else { return }
            // The feed is live but the read failed: try again.
            return queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [weak self] in
                self?.refresh()
            }
        }
        let entries = (answer["entries"]?.array ?? []).compactMap { DisconnectRow($0) }
        // This process had not started at that time of the server's clock.
        let start =
            (answer["now"]?.int ?? 0) - Int((ContinuousClock.now - began).milliseconds) - 1000
        let (new, isWhole) = state.withLock { state -> ([DisconnectRow], Bool) in
            let new = entries.filter { entry in
                let isNew = state.done.updateValue(entry.number, forKey: entry.by) == nil
                return state.own.remove(entry.by) == nil && isNew && entry.moment >= start
            }
            state.newest = max(state.newest ?? 0, entries.last?.number ?? 0)
            if state.done.count > 2 * Self.remembered {
                let oldest = state.done.values.sorted(by: >)[Self.remembered]
                state.done = state.done.filter { $0.value > oldest }
            }
            state.isReading = false
            let isWhole =
                entries.count < Self.page && state.listening == generation && !state.isStale
            if isWhole { state.current = generation }
            return (new, isWhole)
        }
        deliver(new.map { .disconnect(user: $0.user, mayComeBack: $0.mayComeBack) })
        if isWhole { changed() } else { refresh() }
    }

    /// The most entries of one answer.
    private static let page = 1000
    private static let overlap = 200
}

/// A user to be disconnected by all gateways.
private struct DisconnectRow {
    var number: Int
    /// Milliseconds of the server's clock.
    var moment: Int
    var user: String
    var mayComeBack: Bool
    var by: String

    init?(_ value: RawJSON) {
        guard let object = value.object, let number = object["n"]?.int,
            let user = object["user"]?.string, let by = object["by"]?.string
        else { return nil }
        self.number = number
        moment = object["at"]?.int ?? 0
        self.user = user
        mayComeBack = object["back"]?.bool ?? true
        self.by = by
    }
}
