import Chat
import JSON
import Wire

/// A question to an origin: the reading half of `protocol.md` 7. Each answer is read at one moment.
package enum HistoryQuery: Sendable, Hashable {
    /// With a reader, its own fields too; without them in the answer it does not take part.
    case conversation(String, reader: String? = nil)
    case conversations(user: String, limit: Int, cursor: String?)
    /// What changed in a user's list since the token of an earlier answer.
    case conversationsSince(user: String, token: String?, limit: Int)
    /// Where all conversations of a user's list stand.
    case listed(user: String)
    case message(conversation: String, id: String)
    case page(conversation: String, PageRequest)
    /// Every slot whose rev is above `since`, smallest rev first. With a mark, the log must still
    /// have it at `since`: otherwise `conflict`. With `recordAbove`, the answer brings slot 0
    /// whenever its rev is above that, even where the part ends below it.
    case changes(
        conversation: String, since: Int, mark: String?, limit: Int, recordAbove: Int? = nil)
    case heads([String])
    case participants(conversation: String, ParticipantsRequest)
}

/// The answer to a `HistoryQuery`. About a log whose parts contradict each other nothing is
/// answered: the question fails with `RequestError.damaged`.
package enum HistoryAnswer: Sendable {
    case conversation(ConversationView)
    case conversations(ConversationList)
    case conversationsSince(ConversationChanges)
    case listed(ListedHeads)
    case message(EncodedMessage)
    case page(Page)
    case changes(Changes)
    /// Of those asked for that are there; and of those whose log is damaged, which part of it.
    case heads([String: Head], damaged: [String: String] = [:])
    case participants(ParticipantList)
}

/// The slots of a log that changed, with their present values.
package struct Changes: Sendable, Hashable {
    /// Smallest rev first.
    package var messages: [EncodedMessage]
    /// Slot 0, if its rev lies among those read or above the question's `recordAbove`.
    package var record: Record?
    package var head: Head
    /// The next `since`.
    package var upTo: Int
    /// What the log has at `upTo`, where the origin tells.
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
