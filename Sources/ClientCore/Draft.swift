import Chat
import JSON
import Wire

/// A message that the gateway has not confirmed yet.
public struct Draft: Sendable, Hashable, Identifiable {
    /// How far it got.
    public enum State: Sendable, Hashable {
        /// It goes out as soon as it can.
        case sending
        /// It was refused, or tried too often; it waits for `retry` or `discard`.
        case failed(RequestError)
    }

    /// Chosen by the client and kept over every try, so that it is sent once; the id of the message
    /// that it becomes.
    public var id: String
    /// The text, if it has one.
    public var body: String?
    /// What is attached, in the application's own form.
    public var attachment: RawJSON?
    /// The application's own object.
    public var metadata: RawJSON?
    /// The id of the message to which it replies.
    public var replyTo: String?
    /// The users whom it mentions.
    public var mentions: [String]
    /// Whether it mentions everybody.
    public var mentionAll: Bool
    /// When it was written, by this machine's clock.
    public var createdAt: Timestamp
    /// How far it got.
    public internal(set) var state = State.sending

    /// A message that is to be sent.
    public init(
        id: String, body: String?, attachment: RawJSON? = nil, metadata: RawJSON? = nil,
        replyTo: String? = nil, mentions: [String] = [], mentionAll: Bool = false,
        createdAt: Timestamp
    ) {
        self.id = id
        self.body = body
        self.attachment = attachment
        self.metadata = metadata
        self.replyTo = replyTo
        self.mentions = mentions
        self.mentionAll = mentionAll
        self.createdAt = createdAt
    }

    /// The message that it will become, as it can be shown until then: without a place.
    public func message(of author: String, in conversation: String) -> Message {
        Message(
            id: id, conversation: conversation, author: author, body: body, attachment: attachment,
            metadata: metadata ?? .emptyObject, createdAt: createdAt,
            replyTo: replyTo.map { Reply(id: $0) }, mentions: mentions, mentionAll: mentionAll)
    }
}

/// The unsent messages of one conversation, in the order in which they were written. One is under
/// way at a time, so that a failure never lets a later one overtake. A lost connection is no
/// failure: the draft waits and goes out again under its id.
struct Outbox: Sendable {
    /// So often one is tried by itself where the gateway says that it may be.
    static let tries = 5

    private(set) var drafts: [Draft] = []
    /// The one that waits for its answer.
    private(set) var underWay: String?
    private var failures = 0
    private var backoff = Backoff()

    init(_ drafts: [Draft] = []) { self.drafts = drafts }

    /// Adds one; nothing happens if its id is taken.
    mutating func add(_ draft: Draft) {
        guard !drafts.contains(where: { $0.id.isSameID(draft.id) }) else { return }
        var draft = draft
        // They are shown in the order of their moments: of two in one, the later is a bit later.
        if let last = drafts.last, draft.createdAt <= last.createdAt {
            draft.createdAt.milliseconds = last.createdAt.milliseconds + 1
        }
        drafts.append(draft)
    }

    /// The one that goes next, which is under way from now on; nil if there is none to go.
    mutating func next() -> Draft? {
        guard underWay == nil, let draft = drafts.first(where: { $0.state == .sending }) else {
            return nil
        }
        underWay = draft.id
        return draft
    }

    /// The one under way will not be answered.
    mutating func interrupt() { underWay = nil }

    /// A message that arrived is no longer a draft: one's own messages come back as events, often
    /// before the answer.
    /// - Returns: whether there was any.
    mutating func confirm(_ messages: some Sequence<Message>) -> Bool {
        guard !drafts.isEmpty else { return false }
        let count = drafts.count
        for message in messages { drafts.removeAll { $0.id.isSameID(message.id) } }
        return drafts.count != count
    }

    /// The one under way was answered with a message.
    mutating func succeed() {
        underWay = nil
        failures = 0
        backoff.reset()
    }

    /// The one under way was refused.
    /// - Returns: after how many milliseconds it is tried again; nil if it failed.
    mutating func fail(_ error: RequestError, random: Double) -> Int64? {
        let id = underWay
        underWay = nil
        failures += 1
        // An origin that is away comes back, and is waited for: what was written goes out then.
        if error.retry != .never, failures < Self.tries || error.code == .originUnavailable {
            return error.after.map(Int64.init) ?? backoff.next(random)
        }
        failures = 0
        set(id ?? "", .failed(error))
        return nil
    }

    /// One can't be sent, now or ever.
    mutating func refuse(_ id: String, _ error: RequestError) {
        if underWay == id { underWay = nil }
        set(id, .failed(error))
    }

    /// Tries a failed one again.
    mutating func retry(_ id: String) { set(id, .sending) }

    /// Gives one up.
    mutating func discard(_ id: String) { drafts.removeAll { $0.id.isSameID(id) } }

    private mutating func set(_ id: String, _ state: Draft.State) {
        guard let index = drafts.firstIndex(where: { $0.id.isSameID(id) }) else { return }
        drafts[index].state = state
    }
}
