import Chat
import JSON
import Wire

/// A question to an origin: the read part of `protocol.md` 7. Each answer is read at one moment.
package enum HistoryQuery: Sendable, Hashable {
    /// With a reader, the reader's own fields too; if the answer lacks them, the reader does not
    /// take part.
    case conversation(String, reader: String? = nil)
    case conversations(user: String, limit: Int, cursor: String?)
    /// The changes in a user's list since an earlier answer's token.
    case conversationsSince(user: String, token: String?, limit: Int)
    /// The heads of all conversations in a user's list.
    case listed(user: String)
    case message(conversation: String, id: String)
    case page(conversation: String, PageRequest)
    /// Every slot whose rev is above `since`, in ascending order of rev. If a mark is given, the
    /// log must still have it at `since`, otherwise the answer is `conflict`. With `recordAbove`,
    /// the answer has slot 0 whenever its rev is above that, even if the part ends below it.
    case changes(
        conversation: String, since: Int, mark: String?, limit: Int, recordAbove: Int? = nil)
    case heads([String])
    case participants(conversation: String, ParticipantsRequest)
}

/// The answer to a `HistoryQuery`. There is none about a log whose parts contradict each other: the
/// question fails with `RequestError.damaged`.
package enum HistoryAnswer: Sendable {
    case conversation(ConversationView)
    case conversations(ConversationList)
    case conversationsSince(ConversationChanges)
    case listed(ListedHeads)
    case message(EncodedMessage)
    case page(Page)
    case changes(Changes)
    /// Heads of the requested logs that exist, and the damaged parts of those that are damaged.
    case heads([ID: Head], damaged: [ID: String] = [:])
    case participants(ParticipantList)
}

/// The changed slots of a log, with their present values.
package struct Changes: Sendable, Hashable {
    /// Ascending by rev.
    package var messages: [EncodedMessage]
    /// Slot 0, if its rev is among those read or above the question's `recordAbove`.
    package var record: Record?
    package var head: Head
    /// The next `since`.
    package var upTo: Int
    /// The log's mark at `upTo`, if the origin gives it.
    package var mark: String?
    package var more: Bool

    package init(
        messages: [EncodedMessage], record: Record?, head: Head, upTo: Int, mark: String? = nil,
        more: Bool
    ) {
        self.messages = messages
        self.record = record
        self.head = head
        self.upTo = upTo
        self.mark = mark
        self.more = more
    }
}
