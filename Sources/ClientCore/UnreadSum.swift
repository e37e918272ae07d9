import Chat
import JSON

/// How much is unread in all conversations of the user, whether or not somebody watches the list.
public struct UnreadSum: Sendable, Hashable {
    /// How much is unread in one conversation.
    public struct Part: Sendable, Hashable {
        /// The seq up to which the user has read.
        public var lastReadSeq: Int
        /// How many messages.
        public var messages: Int
        /// How many of them mention the user, or all.
        public var mentions: Int

        /// Numbers as a test needs them.
        public init(lastReadSeq: Int, messages: Int, mentions: Int) {
            self.lastReadSeq = lastReadSeq
            self.messages = messages
            self.mentions = mentions
        }
    }

    /// How many messages.
    public var messages: Int
    /// In how many conversations.
    public var conversations: Int
    /// How many of the messages mention the user, or all.
    public var mentions: Int
    /// What is known of single conversations, by their ids: the gateway tells of a hundred at once.
    /// A conversation that the user left keeps its last numbers.
    public var of: [String: Part]
    /// Whether there may be changes that are not counted: the gateway's origin is away, or this
    /// client is.
    public var isOpen: Bool

    /// Totals as a test needs them.
    public init(
        messages: Int, conversations: Int, mentions: Int = 0, of: [String: Part] = [:],
        isOpen: Bool = false
    ) {
        self.messages = messages
        self.conversations = conversations
        self.mentions = mentions
        self.of = of
        self.isOpen = isOpen
    }

    /// - Parameter parts: the objects that say how much is unread in single conversations.
    init(
        _ object: JSONObject, of parts: [RawJSON]?, named name: String, isOpen: Bool
    ) throws(FrameError) {
        self.init(
            messages: try object.integer("messages"),
            conversations: try object.integer("conversations"),
            mentions: object["mentions"]?.int ?? 0, isOpen: isOpen)
        for part in (parts ?? []).compactMap(\.object) {
            guard let id = part[name]?.string, let place = part["lastReadSeq"]?.int,
                let messages = part["unreadCount"]?.int
            else { continue }
            of[id] = Part(
                lastReadSeq: place, messages: messages,
                mentions: part["unreadMentions"]?.int ?? 0)
        }
    }
}
