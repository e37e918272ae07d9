import ClientCore
import JSON
import Wire

/// Who writes to the conversation of one object for views.
public struct ConversationWriter: Sendable {
    let feed: ConversationFeed

    /// Makes a change of what the view shows: what came since and is not shown yet was not seen.
    @MainActor
    fileprivate func change(_ message: String, _ kind: Change.Kind) -> String {
        var change = Change(id: MessageID.make(), message: message, kind: kind)
        let window = feed.window
        // What is only shown, such as the answer to one's own send, may have no head beside it.
        if let index = window.timeline.index(of: message) {
            change.ifRev = window.timeline[index].rev
            change.epoch = change.ifRev.flatMap { _ in window.head?.epoch }
            change.generation = window.generation
        }
        feed.link.queue(change, in: feed.conversation)
        return change.id
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
        let feed = writer.feed
        return feed.link.send(conversation: feed.conversation, body: body, metadata: metadata)
    }

    /// Tries a draft again that failed.
    public func retry(_ draft: String) {
        writer.feed.link.retry(draft, in: writer.feed.conversation)
    }

    /// Edits a message, now or as soon as there is a session: see `ChatClient.queueEdit`. It is in
    /// conflict if the message is another one than the object shows.
    /// - Returns: The id of the change.
    @discardableResult
    public func edit(_ message: String, body: String?, metadata: RawJSON? = nil) -> String {
        writer.change(message, .edit(body: body, metadata: metadata))
    }

    /// Deletes a message, now or as soon as there is a session: see `ChatClient.queueDelete`. It is
    /// in conflict if the message is another one than the object shows.
    /// - Returns: The id of the change.
    @discardableResult
    public func delete(_ message: String) -> String { writer.change(message, .delete) }

    /// Says that everything up to a place was read, now or as soon as there is a session.
    public func markRead(upTo seq: Int) {
        writer.feed.link.queueRead(upTo: seq, in: writer.feed.conversation)
    }

    /// Gives a draft up. One that is under way may still arrive.
    public func discard(_ draft: String) {
        writer.feed.link.discard(draft, in: writer.feed.conversation)
    }
}

extension ManagedMessageList: ConversationFace {
    /// What is not sent yet, oldest first; each is among the rows too.
    public var drafts: [Draft] { feed.window.drafts }
    /// The edits and deletions that are not confirmed, failed, or are in conflict, oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed: feed) }
}

extension History: ConversationFace {
    /// What is not sent yet, oldest first; each is among the rows too.
    public var drafts: [Draft] { feed.window.drafts }
    /// The edits and deletions that are not confirmed, failed, or are in conflict, oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed: feed) }
}

extension ChatDataSource: ConversationFace {
    /// What is not sent yet, oldest first; each is among the rows too.
    public var drafts: [Draft] { feed.window.drafts }
    /// The edits and deletions that are not confirmed, failed, or are in conflict, oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed: feed) }
}
