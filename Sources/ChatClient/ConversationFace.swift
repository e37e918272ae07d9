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

    /// Edits a message, now or as soon as there is a session: see `ChatClient.queueEdit`.
    /// - Returns: The id of the change.
    @discardableResult
    public func edit(_ message: String, body: String?, metadata: RawJSON? = nil) -> String {
        let conversation = writer.conversation
        return writer.client?.queueEdit(
            message, in: conversation, body: body, metadata: metadata) ?? ""
    }

    /// Deletes a message, now or as soon as there is a session: see `ChatClient.queueDelete`.
    /// - Returns: The id of the change.
    @discardableResult
    public func delete(_ message: String) -> String {
        writer.client?.queueDelete(message, in: writer.conversation) ?? ""
    }

    /// Says that everything up to a place was read, now or as soon as there is a session.
    public func markRead(upTo seq: Int) {
        writer.client?.queueRead(upTo: seq, in: writer.conversation)
    }

    /// Gives a draft up. One that is under way may still arrive.
    public func discard(_ draft: String) { writer.client?.discard(draft, in: writer.conversation) }
}

extension ManagedMessageList: ConversationFace {
    /// The edits and deletions that are not confirmed, failed, or are in conflict, oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed) }
}

extension History: ConversationFace {
    /// The edits and deletions that are not confirmed, failed, or are in conflict, oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed) }
}

extension ChatDataSource: ConversationFace {
    /// The edits and deletions that are not confirmed, failed, or are in conflict, oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed) }
}
