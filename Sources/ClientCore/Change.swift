import Chat
import JSON
import Wire

/// An edit, a deletion, or a reaction to a message, that the gateway has not confirmed yet.
public struct Change: Sendable, Hashable, Identifiable {
    /// What is to become of the message.
    public enum Kind: Sendable, Hashable {
        /// It has this text, nil for none, this object of the application's own, and mentions
        /// these users, or everybody; nil leaves each of these as it is.
        case edit(
            body: String?, metadata: RawJSON?, mentions: [String]? = nil, mentionAll: Bool? = nil)
        /// It is deleted.
        case delete
        /// The user's reaction with a key of 1 to 64 bytes begins, or ends.
        case react(key: String, isOn: Bool)
    }

    /// How far it got.
    public enum State: Sendable, Hashable {
        /// It goes out as soon as it can.
        case sending
        /// It was refused, or tried too often; it waits for `retryChange` or `discardChange`.
        case failed(RequestError)
        /// The message is another one by now, or its log is: nobody can say whether the change is
        /// still meant. The error says what there is, where the gateway said so.
        case conflict(RequestError)
    }

    /// Of this change, the same over every try.
    public var id: String
    /// The id of the message.
    public var message: String
    /// What is to become of it.
    public var kind: Kind
    /// The value that was changed, by its number; nil where that is not known.
    public var ifRev: Int?
    /// The log in which that is its number.
    public var epoch: String?
    /// What the client held was of this generation when the value was read: a log that lost its end
    /// keeps its epoch.
    package var generation = 0
    /// How far it got.
    public internal(set) var state = State.sending

    /// Whether it is a reaction: whatever became of the message since, it is still meant.
    package var isReaction: Bool { if case .react = kind { true } else { false } }

    /// A change that is to be made.
    public init(id: String, message: String, kind: Kind) {
        self.id = id
        self.message = message
        self.kind = kind
    }
}

/// What was changed in one conversation and is not confirmed, in the order in which it was written.
/// One is under way at a time. A lost connection is no failure: the change goes again, with the
/// `rev` that it is of, so that one that was made already is no conflict with itself.
struct ChangeQueue: Sendable {
    private static let remembered = 16

    private(set) var changes: [Change] = []
    /// Up to where the user has read, if the gateway does not know it yet.
    private(set) var read: Int?
    private(set) var underWay: String?
    private(set) var isReadUnderWay = false
    /// The log that the conversation is known to have in this session, where nobody follows it.
    var checked: String?
    private var isChecking = false
    /// What was changed last, from which value to which: what a view shows comes later.
    private var made: [(message: String, generation: Int, from: Int, to: Int)] = []
    private var failures = 0
    private var backoff = Backoff()
    private var readBackoff = Backoff()

    /// The log that the next change is of, if that is known.
    var epoch: String? { changes.first { $0.state == .sending }?.epoch }

    /// - Returns: whether it has to be asked which log the conversation has.
    mutating func beginCheck() -> Bool {
        defer { isChecking = true }
        return !isChecking
    }

    init(_ changes: [Change] = [], read: Int? = nil) {
        self.changes = changes
        self.read = read
    }

    mutating func add(_ change: Change) {
        guard !changes.contains(where: { $0.id == change.id }) else { return }
        var change = change
        if case .react(let key, _) = change.kind {
            // Of those that wait, what was decided last counts.
            changes.removeAll { other in
                guard case .react(let same, _) = other.kind, other.id != underWay else {
                    return false
                }
                return other.message.isSameID(change.message) && same.isSameID(key)
            }
        }
        // What was written of a value that one's own change replaced was written of that change.
        for made in made where made.message.isSameID(change.message) {
            if (made.generation, made.from) == (change.generation, change.ifRev) {
                change.ifRev = made.to
            }
        }
        changes.append(change)
    }

    /// - Parameter drafts: what is not sent yet: a change of it comes behind it.
    mutating func next(behind drafts: [Draft]) -> Change? {
        guard underWay == nil, let change = changes.first(where: { $0.state == .sending }),
            !drafts.contains(where: { $0.id.isSameID(change.message) })
        else { return nil }
        underWay = change.id
        return change
    }

    /// What is under way will not be answered.
    mutating func interrupt() {
        underWay = nil
        isReadUnderWay = false
        checked = nil
        isChecking = false
    }

    /// The one under way was made. What was written behind it was written of what it made.
    mutating func succeed(_ rev: Int?) {
        let done = changes.first { $0.id == underWay }
        changes.removeAll { $0.id == underWay }
        underWay = nil
        failures = 0
        backoff.reset()
        // A reaction replaces no value that was seen.
        guard let done, let rev, !done.isReaction else { return }
        if let from = done.ifRev, from != rev {
            made.append((done.message, done.generation, from, rev))
            if made.count > Self.remembered { made.removeFirst() }
        }
        for index in changes.indices
        where changes[index].message.isSameID(done.message) && !changes[index].isReaction {
            if changes[index].ifRev == done.ifRev { changes[index].ifRev = rev }
        }
    }

    /// The one under way was refused.
    /// - Returns: after how many milliseconds it is tried again; nil if it waits for somebody.
    mutating func fail(_ error: RequestError, random: Double) -> Int64? {
        let id = underWay
        underWay = nil
        failures += 1
        let mayRetry = error.code != .conflict && error.retry != .never
        if mayRetry, failures < Outbox.tries || error.code == .originUnavailable {
            return error.after.map(Int64.init) ?? backoff.next(random)
        }
        failures = 0
        set(id, error.code == .conflict ? .conflict(error) : .failed(error))
        return nil
    }

    /// The log is another one: what was written of the one before is told, and not guessed.
    /// - Parameter generation: of what is held, where the conversation is followed.
    /// - Returns: whether there was any.
    mutating func logChanged(to epoch: String?, generation: Int? = nil) -> Bool {
        var any = false
        let error = RequestError(.changeUnknown, "ifRev: the conversation began anew meanwhile")
        for index in changes.indices where changes[index].state == .sending {
            guard let known = changes[index].epoch else { continue }
            let isSame = generation.map { $0 == changes[index].generation } ?? true
            if known == epoch, isSame { continue }
            changes[index].state = .conflict(error)
            any = true
        }
        return any
    }

    /// Tries one again; what was in conflict replaces the value that there is now.
    mutating func retry(_ id: String) {
        guard let index = changes.firstIndex(where: { $0.id == id }) else { return }
        if case .conflict = changes[index].state {
            changes[index].ifRev = nil
            changes[index].epoch = nil
        }
        changes[index].state = .sending
    }

    /// One can't be made, now or ever.
    mutating func refuse(_ id: String, _ error: RequestError) {
        if underWay == id { underWay = nil }
        set(id, .failed(error))
    }

    /// Gives one that failed, or is in conflict, another text, and tries it again. One that was in
    /// conflict is of the value that the gateway told of then.
    mutating func rewrite(_ id: String, body: String?) {
        guard let index = changes.firstIndex(where: { $0.id == id && $0.state != .sending }),
            case .edit(_, let metadata, let mentions, let isToAll) = changes[index].kind
        else { return }
        changes[index].kind = .edit(
            body: body, metadata: metadata, mentions: mentions, mentionAll: isToAll)
        retry(id)
    }

    /// Gives one up. One that is under way may still be made.
    mutating func discard(_ id: String) { changes.removeAll { $0.id == id } }

    private mutating func set(_ id: String?, _ state: Change.State) {
        guard let index = changes.firstIndex(where: { $0.id == id }) else { return }
        changes[index].state = state
    }

    // MARK: The read marker

    mutating func markRead(_ seq: Int) { read = max(read ?? 0, seq) }

    /// Where the marker goes to; nil if there is nothing to tell, or it is being told.
    mutating func nextRead() -> Int? {
        guard let read, !isReadUnderWay else { return nil }
        isReadUnderWay = true
        return read
    }

    /// - Parameter seq: where the marker was told to go.
    mutating func readTold(_ seq: Int) {
        isReadUnderWay = false
        readBackoff.reset()
        if seq >= read ?? 0 { read = nil }
    }

    /// The marker was refused.
    /// - Returns: after how many milliseconds it is told again; nil if it was refused for good.
    mutating func readRefused(_ error: RequestError, random: Double) -> Int64? {
        isReadUnderWay = false
        guard error.retry == .never else {
            return error.after.map(Int64.init) ?? readBackoff.next(random)
        }
        readBackoff.reset()
        read = nil
        return nil
    }
}
