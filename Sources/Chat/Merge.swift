// The functions that a client calls to keep a list, under the names of the design that asked for
// them. All are pure: a list goes in and a list comes out, in order, each id once.
//
// Messages stand ascending by `(seq, id)`; without numbering by `(createdAt, id)`; a message that
// has no place yet stands behind all that have one. Conversations stand latest activity first.
//
// Where records carry `rev`, the newest wins, and so neither the order in which pages and deltas
// come nor their repetition matters, within one epoch: when a log was reset, begin a new list.
// Without `rev`, what was fetched replaces what is held, and deltas are weighed by `editedAt`.
//
// Given a list that was returned by one of these functions, each costs O(n + m log m) for n
// records held and m that come. Any other list is put in order first.

/// The list with newly fetched messages in it: one page, or several.
///
/// A page says what is there, not what is gone: messages that it does not hold stay.
public func merge(messages: [Message], toList list: [Message]) -> [Message] {
    Message.merge(messages.map { Arrival($0, .fetched) }, into: list)
}

/// The list with changes applied.
///
/// An update of a message that is not there inserts it, since it may come before the insert. A
/// deleted message stays as a tombstone, which keeps its place known and keeps a late insert from
/// bringing it back; `visible` is the list without tombstones. What is trimmed leaves the list.
public func merge(messageDeltas deltas: [MessageDelta], toList list: [Message]) -> [Message] {
    Message.merge(deltas.map { Arrival($0.message, $0.type) }, into: list)
}

/// The list with newly fetched conversations in it.
///
/// For a list that was fetched as a whole, merge into an empty one: what it does not hold is gone.
public func merge(
    conversations: [Conversation], toList list: [Conversation]
) -> [Conversation] {
    Conversation.merge(conversations.map { Arrival($0, .fetched) }, into: list)
}

/// The list with changes applied.
///
/// The record, the activity and the reader's part of a conversation are merged separately, since a
/// delta never carries the reader's part and may carry only one of the others. An update of a
/// conversation that is not there inserts it. A deletion that carries a number (`rev`, or that of
/// its `head`) stays in the list as a tombstone: see `visible`. The protocol's own deletion is a
/// bare id: it takes the conversation out, and what comes after it counts as news.
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
    /// The messages that are there: the list without tombstones, as a reader sees it.
    public var visible: [Message] { filter { !$0.isDeleted } }
}

extension Sequence<Conversation> {
    /// The conversations that are there: the list without removed ones, as a reader sees it.
    public var visible: [Conversation] { filter { !$0.isDeleted } }
}
