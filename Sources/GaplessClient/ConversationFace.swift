import ClientCore
import JSON
import Wire

/// The value of a message that its author sees as they begin to change it: see
/// `ConversationFace.see`.
public struct SeenMessage: Sendable, Hashable {
    /// The id of the message.
    public let id: String
    fileprivate var rev: Int?
    fileprivate var epoch: String?
    fileprivate var generation = 0
}

/// Who writes to the conversation of one object for views.
public struct ConversationWriter: Sendable {
    let feed: ConversationFeed

    /// Notes what the view shows: what came since and is not shown yet was not seen.
    @MainActor
    fileprivate func see(_ message: String) -> SeenMessage {
        var seen = SeenMessage(id: message)
        let window = feed.window
        // What is only shown, such as the answer to one's own send, may have no head beside it.
        if let index = window.timeline.index(of: message) {
            seen.rev = window.timeline[index].rev
            seen.epoch = seen.rev.flatMap { _ in window.head?.epoch }
            seen.generation = window.generation
        }
        return seen
    }

    @MainActor
    fileprivate func change(_ seen: SeenMessage, _ kind: Change.Kind) -> String {
        var change = Change(id: MessageID.make(), message: seen.id, kind: kind)
        (change.ifRev, change.epoch, change.generation) = (seen.rev, seen.epoch, seen.generation)
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
    public func send(
        _ body: String?, metadata: RawJSON? = nil, replyTo message: String? = nil,
        mentions: [String] = [], mentionAll: Bool = false
    ) -> String {
        let feed = writer.feed
        return feed.link.send(
            conversation: feed.conversation, body: body, metadata: metadata, replyTo: message,
            mentions: mentions, mentionAll: mentionAll)
    }

    /// Tries a draft again that failed.
    public func retry(_ draft: String) {
        writer.feed.link.retry(draft, in: writer.feed.conversation)
    }

    /// Gives a draft that failed another text: see `ChatClient.rewrite`.
    /// - Returns: The id under which it is sent.
    @discardableResult
    public func rewrite(_ draft: String, body: String?) -> String {
        writer.feed.link.rewrite(draft, in: writer.feed.conversation, body: body)
    }

    /// Notes which value of a message is shown, as its author begins to change it. Give it to
    /// `edit` or `delete` in place of the id: a value that comes meanwhile is then a conflict, and
    /// not overwritten unseen, also where the log is restored.
    public func see(_ message: String) -> SeenMessage { writer.see(message) }

    /// Edits a message, now or as soon as there is a session: see `ChatClient.queueEdit`. It is in
    /// conflict if the message is another one than was seen.
    /// - Returns: The id of the change.
    @discardableResult
    public func edit(
        _ seen: SeenMessage, body: String?, metadata: RawJSON? = nil, mentions: [String]? = nil,
        mentionAll: Bool? = nil
    ) -> String {
        writer.change(
            seen,
            .edit(body: body, metadata: metadata, mentions: mentions, mentionAll: mentionAll))
    }

    /// The same of the value that the object shows now.
    @discardableResult
    public func edit(
        _ message: String, body: String?, metadata: RawJSON? = nil, mentions: [String]? = nil,
        mentionAll: Bool? = nil
    ) -> String {
        edit(
            see(message), body: body, metadata: metadata, mentions: mentions,
            mentionAll: mentionAll)
    }

    /// Deletes a message, now or as soon as there is a session: see `ChatClient.queueDelete`. It is
    /// in conflict if the message is another one than was seen.
    /// - Returns: The id of the change.
    @discardableResult
    public func delete(_ seen: SeenMessage) -> String { writer.change(seen, .delete) }

    /// The same of the value that the object shows now.
    @discardableResult
    public func delete(_ message: String) -> String { delete(see(message)) }

    /// Reacts to a message, or takes that back, now or as soon as there is a session: see
    /// `ChatClient.queueReaction`.
    /// - Returns: The id of the change.
    @discardableResult
    public func react(_ key: String, to message: String, isOn: Bool = true) -> String {
        let change = Change(
            id: MessageID.make(), message: message, kind: .react(key: key, isOn: isOn))
        writer.feed.link.queue(change, in: writer.feed.conversation)
        return change.id
    }

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
    /// The edits, deletions and reactions that are not confirmed, failed, or are in conflict,
    /// oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed: feed) }
}

extension History: ConversationFace {
    /// What is not sent yet, oldest first; each is among the rows too.
    public var drafts: [Draft] { feed.window.drafts }
    /// The edits, deletions and reactions that are not confirmed, failed, or are in conflict,
    /// oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed: feed) }
}

extension ChatDataSource: ConversationFace {
    /// What is not sent yet, oldest first; each is among the rows too.
    public var drafts: [Draft] { feed.window.drafts }
    /// The edits, deletions and reactions that are not confirmed, failed, or are in conflict,
    /// oldest first.
    public var edits: [Change] { feed.window.changes }
    /// Who writes to the conversation.
    public var writer: ConversationWriter { ConversationWriter(feed: feed) }
}
