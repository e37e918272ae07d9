import ClientCore
import JSON
import Wire

/// Who writes to the conversation of one object for views.
public struct ConversationWriter: Sendable {
    /// A face that a test stands behind has none, and writes nothing.
    let client: ChatClient?
    let conversation: String

    @MainActor init(_ feed: ConversationFeed) {
        client = feed.link as? ChatClient
        conversation = feed.conversation
    }
}

/// What each of the objects for views can do with its conversation. What is written offline waits
/// until it can be sent.
@MainActor
public protocol ConversationFace: AnyObject {
    /// Who writes to the conversation.
    var writer: ConversationWriter { get }
}

extension ConversationFace {
    /// Sends a message: see `ChatClient.send`.
    /// - Returns: The id under which it is sent.
    @discardableResult
    public func send(_ body: String?, metadata: RawJSON? = nil) -> String {
        let conversation = writer.conversation
        return writer.client?.send(conversation: conversation, body: body, metadata: metadata) ?? ""
    }

    /// Tries a draft again that failed.
    public func retry(_ draft: String) { writer.client?.retry(draft, in: writer.conversation) }

    /// Gives a draft up. One that is under way may still arrive.
    public func discard(_ draft: String) { writer.client?.discard(draft, in: writer.conversation) }
}

extension ManagedMessageList: ConversationFace {
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed) }
}

extension History: ConversationFace {
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed) }
}

extension ChatDataSource: ConversationFace {
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed) }
}
