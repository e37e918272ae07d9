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
    /// With a reader, not found unless the reader takes part.
    case participants(conversation: String, ParticipantsRequest, reader: String? = nil)
    /// The reactions to one message, for a user who takes part.
    case reactions(conversation: String, message: String, ReactionsRequest, for: String)
    /// With which keys a user who takes part reacts to messages between two places, exclusive.
    case ownReactions(conversation: String, after: Int, before: Int, of: String)
    /// Where others mention a user who takes part, above a seq, oldest first.
    case mentions(conversation: String, after: Int, limit: Int, of: String)
    /// One of `conversation`, `page` and `changes`; `logLost` unless the log has this change in the
    /// moment of the answer, and still keeps its mark. A log that has it has everything before it
    /// too, so that nobody joins two branches.
    indirect case provided(Head, HistoryQuery)
}

extension HistoryQuery {
    /// The question itself, whatever log it is provided for.
    package var bare: HistoryQuery {
        if case .provided(_, let query) = self { query.bare } else { self }
    }

    /// Whether it asks for what earlier versions don't write.
    package var isOfPresentVersion: Bool {
        switch self {
        case .reactions, .ownReactions, .mentions: true
        case .conversation, .conversations, .conversationsSince, .listed, .message, .page,
            .changes, .heads, .participants, .provided:
            false
        }
    }

    /// The one log that it is about; nil for others.
    package var conversation: String? {
        switch self {
        case .conversation(let id, _), .message(let id, _), .page(let id, _),
            .changes(let id, _, _, _, _), .participants(let id, _, _),
            .reactions(let id, _, _, _), .ownReactions(let id, _, _, _),
            .mentions(let id, _, _, _):
            id
        case .conversations, .conversationsSince, .listed, .heads: nil
        case .provided(_, let query): query.conversation
        }
    }

    /// Who asks, about their list, reactions or mentions; nil for other questions.
    package var user: String? {
        switch self {
        case .conversations(let user, _, _), .conversationsSince(let user, _, _),
            .listed(let user), .reactions(_, _, _, let user), .ownReactions(_, _, _, let user),
            .mentions(_, _, _, let user):
            user
        case .conversation, .message, .page, .changes, .heads, .participants, .provided: nil
        }
    }
}

extension RequestError {
    /// The log has not, or no longer knows, the change that a question is provided with.
    package static let logLost = RequestError(.changeUnknown, "this log has no such change")
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
    case reactions(ReactionList)
    case ownReactions([OwnReactions])
    case mentions(MentionList)
}

/// The reactions to one message, or those with one key: a part of them, oldest first.
package struct ReactionList: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package var user: String
        package var key: String
        package var at: Timestamp
        /// The change of the log that began it.
        package var rev: Int

        package init(user: String, key: String, at: Timestamp, rev: Int) {
            self.user = user
            self.key = key
            self.at = at
            self.rev = rev
        }
    }

    package var entries: [Entry]
    /// How many there are in all.
    package var total: Int
    /// Whether there are more behind these.
    package var hasMore: Bool

    package init(entries: [Entry], total: Int, hasMore: Bool) {
        self.entries = entries
        self.total = total
        self.hasMore = hasMore
    }
}

extension ReactionList {
    /// A page of the reactions that a message shows.
    /// - Parameters:
    ///   - entries: one more than the limit, if there are more.
    ///   - shown: what the message shows.
    package init(_ entries: [Entry], of shown: [Reaction], _ request: ReactionsRequest) {
        let asked = shown.filter { request.key?.isSameID($0.key) ?? true }
        self.init(
            entries: Array(entries.prefix(request.limit)),
            total: asked.reduce(0) { $0 + $1.count }, hasMore: entries.count > request.limit)
    }
}

/// The keys with which one user reacts to one message, oldest first.
package struct OwnReactions: Sendable, Hashable {
    package var seq: Int
    package var keys: [String]

    package init(seq: Int, keys: [String]) {
        self.seq = seq
        self.keys = keys
    }
}

extension [OwnReactions] {
    /// From single reactions, by ascending seq.
    package init(_ reactions: some Sequence<(seq: Int, key: String)>) {
        self = []
        for (seq, key) in reactions {
            if last?.seq == seq {
                self[count - 1].keys.append(key)
            } else {
                append(OwnReactions(seq: seq, keys: [key]))
            }
        }
    }
}

/// Where others mention a user: a part of it, oldest first.
package struct MentionList: Sendable, Hashable {
    /// A message.
    package struct Place: Sendable, Hashable {
        package var id: String
        package var seq: Int

        package init(id: String, seq: Int) {
            self.id = id
            self.seq = seq
        }
    }

    package var places: [Place]
    /// How many there are in all.
    package var total: Int

    package init(places: [Place], total: Int) {
        self.places = places
        self.total = total
    }
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
    package var more: Bool

    package init(
        messages: [EncodedMessage], record: Record?, head: Head, upTo: Int, more: Bool
    ) {
        self.messages = messages
        self.record = record
        self.head = head
        self.upTo = upTo
        self.more = more
    }
}
