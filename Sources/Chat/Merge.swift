// The functions with which a client keeps a list. All are pure: a list goes in and a list comes
// out, in order, each id once.
//
// Messages ascend by `(seq, id)`; those without a seq yet come after them, by `(createdAt, id)`.
// Conversations have the latest activity first.
//
// Where records carry `rev`, the newest wins, so neither the order of pages and deltas nor their
// repetition matters, within one epoch: after a log was reset, begin a new list. Without `rev`, a
// fetched value replaces the held one, and deltas are compared by `editedAt`.
//
// Given a list that one of these functions returned, each costs O(n + m log m) for n records held
// and m arriving. Any other list is sorted first.

/// The list with newly fetched messages merged in: one page, or several.
///
/// A page proves what exists, not what is gone: messages that it does not hold stay.
public func merge(messages: [Message], toList list: [Message]) -> [Message] {
    Message.merge(messages.map { Arrival($0, .fetched) }, into: list)
}

/// The list with changes applied.
///
/// An update of a message that is not in the list inserts it, since it may overtake the insert. A
/// deleted message stays as a tombstone: its place stays known, and a late insert can't bring it
/// back; `visible` is the list without tombstones. A trimmed message leaves the list.
public func merge(messageDeltas deltas: [MessageDelta], toList list: [Message]) -> [Message] {
    Message.merge(deltas.map { Arrival($0.message, $0.type) }, into: list)
}

/// The list with newly fetched conversations merged in.
///
/// If the whole list was fetched, merge into an empty one: conversations missing from it are gone.
public func merge(
    conversations: [Conversation], toList list: [Conversation]
) -> [Conversation] {
    Conversation.merge(conversations.map { Arrival($0, .fetched) }, into: list)
}

/// The list with changes applied.
///
/// The record, the activity and the reader's part of a conversation are merged separately: a delta
/// never carries the reader's part, and may carry only one of the others. An update of a
/// conversation that is not in the list inserts it. A deletion with a number (`rev`, or that of its
/// `head`) stays in the list as a tombstone: see `visible`. The protocol's own deletion is a bare
/// id: it removes the conversation, and any later change counts as new.
public func merge(
    conversationDeltas deltas: [ConversationDelta], toList list: [Conversation]
) -> [Conversation] {
    Conversation.merge(deltas.map { Arrival($0.conversation, $0.type) }, into: list)
}

/// The same as `merge(messageDeltas:toList:)`.
public func applyDelta(_ deltas: [MessageDelta], toList list: [Message]) -> [Message] {
    merge(messageDeltas: deltas, toList: list)
}

/// The same as `merge(conversationDeltas:toList:)`.
public func applyDelta(
    _ deltas: [ConversationDelta], toList list: [Conversation]
) -> [Conversation] {
    merge(conversationDeltas: deltas, toList: list)
}

extension Sequence<Message> {
    /// The messages that a reader sees: the list without tombstones.
    public var visible: [Message] { filter { !$0.isDeleted } }
}

extension Sequence<Conversation> {
    /// The conversations that a reader sees: the list without removed ones.
    public var visible: [Conversation] { filter { !$0.isDeleted } }
}
