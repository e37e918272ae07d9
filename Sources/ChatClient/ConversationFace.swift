import ClientCore
import JSON
import Wire

/// What each of the objects for views can do with its conversation. What is written offline waits
/// until it can be sent.
@MainActor
public protocol ConversationFace: AnyObject {
    /// Who asks the gateway.
    var client: ChatClient { get }
    /// The id of the conversation.
    var conversationID: String { get }
}

extension ConversationFace {
    /// Sends a message: see `ChatClient.send`.
    /// - Returns: The id under which it is sent.
    @discardableResult
    public func send(_ body: String?, metadata: RawJSON? = nil) -> String {
        client.send(conversation: conversationID, body: body, metadata: metadata)
    }

    /// Tries a draft again that failed.
    public func retry(_ draft: String) { client.retry(draft, in: conversationID) }

    /// Gives a draft up. One that is under way may still arrive.
    public func discard(_ draft: String) { client.discard(draft, in: conversationID) }
}

extension ManagedMessageList: ConversationFace {
    /// Who asks the gateway.
    public var client: ChatClient { feed.client }
    /// The id of the conversation.
    public var conversationID: String { feed.conversation }
}

extension History: ConversationFace {
    /// Who asks the gateway.
    public var client: ChatClient { feed.client }
    /// The id of the conversation.
    public var conversationID: String { feed.conversation }
}

extension ChatDataSource: ConversationFace {
    /// Who asks the gateway.
    public var client: ChatClient { feed.client }
    /// The id of the conversation.
    public var conversationID: String { feed.conversation }
}
