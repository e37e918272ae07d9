import Chat
import JSON

/// How much is unread in all conversations of the user, whether or not somebody watches the list.
public struct UnreadSum: Sendable, Hashable {
    /// How many messages.
    public var messages: Int
    /// In how many conversations.
    public var conversations: Int
    /// Whether there may be changes that are not counted: the gateway's origin is away, or this
    /// client is.
    public var isOpen: Bool

    /// Totals as a test needs them.
    public init(messages: Int, conversations: Int, isOpen: Bool = false) {
        self.messages = messages
        self.conversations = conversations
        self.isOpen = isOpen
    }

    init(_ object: JSONObject, isOpen: Bool) throws(FrameError) {
        self.init(
            messages: try object.integer("messages"),
            conversations: try object.integer("conversations"), isOpen: isOpen)
    }
}
