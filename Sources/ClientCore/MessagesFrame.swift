import Chat
import JSON
import Wire

/// What one frame of the gateway says of a conversation's log: the answer to a subscription, a page
/// of history, or an event. `protocol.md` 3 to 5.
public struct MessagesFrame: Sendable {
    /// The changes, of a subscription's answer and of events.
    public var deltas: [MessageDelta] = []
    /// The messages: of a page in the order that was asked for, otherwise those of the deltas.
    public var messages: [Message] = []
    /// The places that the frame proves.
    public var covers = Coverage()
    /// The places in it that are not held.
    public var gaps: [Gap] = []
    /// The stream's place before an event; nil otherwise.
    public var prev: Int?
    /// The number of the change up to which what it covers is known.
    public var asOf: Int
    /// The newest change known.
    public var head: Head
    /// Whether there may be changes that the gateway does not know of.
    public var isOpen = false
    /// Whether what was held before counts no more.
    public var isReset = false
    /// The conversation's own record: of a subscription's answer and of the event that it changed.
    public var record: Conversation?
    /// Whether there is more beyond a page; nil otherwise.
    public var hasMore: Timeline.HasMore?
    /// The ends of the runs: of a page, or of what is held after a subscription's answer.
    public var boundaries: [Boundary] = []
    /// Whether it came from the gateway's cache, ahead of the answer that counts.
    public var isCached = false

    /// A frame that says nothing but where the log stands.
    public init(asOf: Int, head: Head) {
        self.asOf = asOf
        self.head = head
    }

    /// The places that are gaps.
    public var missing: Coverage { Coverage(gaps.compactMap(\.places)) }

    /// The result or event in an object.
    package init(_ object: JSONObject) throws(FrameError) {
        self.init(asOf: try object.integer("asOf"), head: try object.head("head"))
        deltas = try object.records("deltas", MessageDelta.init)
        messages =
            object["messages"] == nil
            ? deltas.map(\.message) : try object.records("messages", Message.init)
        covers = try object.coverage("covers")
        gaps = try object.gaps("gaps")
        prev = object["prev"]?.int
        isOpen = object["open"]?.bool ?? false
        isReset = object["reset"]?.bool ?? false
        boundaries = try object.records("boundaries", Boundary.init)
        if object["conversation"]?.kind == .object {
            record = try object.record("conversation", Conversation.init)
        }
        if object["hasMore"] != nil {
            let more = try object.object("hasMore")
            hasMore = Timeline.HasMore(
                before: more["before"]?.bool ?? false, after: more["after"]?.bool ?? false)
        }
    }
}

extension Gap {
    /// The places of the gap; nil if it has none.
    public var places: Coverage.Run? {
        after + 1 < before ? Coverage.Run(after + 1, before - 1) : nil
    }

    /// Whether a client closes such a gap itself, by fetching. The others are healed by the
    /// gateway, which pushes what was missing, or by nobody.
    public var isFillable: Bool {
        switch cause {
        case .slow, .limit, .cold: true
        case .upstream, .cache, .trimmed: false
        }
    }
}
