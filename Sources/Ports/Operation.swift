import Chat
import JSON
import Wire

/// Who asks for a write: a user, who may do what `protocol.md` 3 allows, or the backend through the
/// server API, which may do everything.
package enum Caller: Sendable, Hashable {
    case user(String)
    case server

    /// Who waits for the turn of what is asked for.
    package var payer: Payer {
        switch self {
        case .user(let user): Payer(user: user.id)
        case .server: .gateway
        }
    }
}

/// A message on its way into a log.
package struct NewMessage: Sendable, Hashable {
    package var author: String
    package var content: MessageContent

    package init(author: String, content: MessageContent) {
        self.author = author
        self.content = content
    }
}

/// A participant on the way in: the id and, from the server API, the fields of the object.
package struct NewParticipant: Sendable, Hashable {
    package var user: String
    package var name: String?
    package var metadata: RawJSON?
    package var unknown: [JSONMember]

    package init(
        user: String, name: String? = nil, metadata: RawJSON? = nil, unknown: [JSONMember] = []
    ) {
        self.user = user
        self.name = name
        self.metadata = metadata
        self.unknown = unknown
    }
}

/// A write that the origin is asked to do. Everything that decides over it (membership, rights, ids
/// already taken) is decided by the origin, in the transaction that writes.
package enum Operation: Sendable, Hashable {
    /// One change per message; all of them or none.
    case send(conversation: String, [NewMessage])
    case edit(conversation: String, id: String, MessageEdit)
    case delete(conversation: String, id: String, ifRev: Int? = nil)
    /// A client's: the caller takes part and is admin.
    case create(id: String?, ConversationFields, distinct: Bool)
    /// The distinct conversation of the caller and these people, for a client that may not create
    /// it; where there is none, the error.
    case findDistinct(ConversationFields, otherwise: RequestError)
    /// The server API's: create, or change the fields that are given.
    case put(id: String, ConversationFields)
    case update(conversation: String, ConversationFields)
    case addParticipants(conversation: String, [NewParticipant])
    case removeParticipants(conversation: String, [String])
    case addAdmins(conversation: String, [String])
    case removeAdmins(conversation: String, [String])
    case deleteConversation(String)
    case leave(String)
    case markRead(conversation: String, seq: Int)
}

extension Operation {
    /// How many rows it writes, about: messages, and people.
    package var rows: Int {
        switch self {
        case .send(_, let messages): messages.count
        case .put(_, let fields), .create(_, let fields, _), .findDistinct(let fields, _):
            1 + (fields.participants?.count ?? 0)
        case .addParticipants(_, let users): 1 + users.count
        case .removeParticipants(_, let users), .addAdmins(_, let users),
            .removeAdmins(_, let users):
            1 + users.count
        case .edit, .delete, .update, .deleteConversation, .leave, .markRead: 1
        }
    }
}

/// A conversation as a reply shows it.
package struct ConversationView: Sendable, Hashable {
    package var record: Record
    /// The newest message that is not deleted.
    package var lastMessage: EncodedMessage?
    package var head: Head
    /// The caller's own fields, where the caller takes part.
    package var reader: ReaderState?
    /// The client that created it, as far as the origin knows; nil if the backend did.
    package var createdBy: String?

    package init(
        record: Record, lastMessage: EncodedMessage?, head: Head, reader: ReaderState? = nil,
        createdBy: String? = nil
    ) {
        self.record = record
        self.lastMessage = lastMessage
        self.head = head
        self.reader = reader
        self.createdBy = createdBy
    }

    /// About as many bytes as it takes in an answer: what may be long, and room for the rest.
    package var size: Int {
        let listed = record.participants.prefix(Record.listedParticipants) + record.admins
        return 512 + (lastMessage?.json.count ?? 0) + record.metadata.bytes.count
            + (record.title?.utf8.count ?? 0) + listed.reduce(0) { $0 + $1.utf8.count + 3 }
            + record.unknown.reduce(0) { $0 + $1.key.utf8.count + $1.value.bytes.count + 4 }
    }
}

/// What an operation that was done answers with.
package enum Outcome: Sendable, Hashable {
    /// In the order in which they were given. `isNew` is false where the same author, id and
    /// content had been sent before (a message as it is now).
    case messages([EncodedMessage], isNew: Bool)
    case conversation(ConversationView, isNew: Bool)
    case read(ReaderState)
    case done
}

/// What a feed tells: the changes of the logs, in order per conversation, and what is none.
package enum FeedEvent: Sendable, Hashable {
    /// A message was inserted, updated or deleted; `head` is the log's head right after it. The
    /// value may be newer than that change: then the feed tells of the later one too, and no change
    /// between them is one of slot 0, which may take somebody out.
    case message(conversation: String, DeltaType, EncodedMessage, head: Head)
    /// Slot 0 changed; the record may be newer than that change too. `removed`: who took part
    /// before it and does not any more, or joined anew. `joined`: who joined with it, where the
    /// record does not name everybody; it is of this change then. `isNew`: it is the first change
    /// of its log.
    case record(
        Record, head: Head, removed: [String], joined: [String] = [], isNew: Bool)
    /// The log is gone, with all that took part in it.
    case deleted(conversation: String, epoch: String, participants: [String])
    /// A read marker moved; not a change of the log.
    case read(conversation: String, user: String, seq: Int)
    /// A conversation came into somebody's list, or left it, by way of somebody else's write.
    case listed(user: String, conversation: String, isIn: Bool)
    /// Somebody types; not stored anywhere.
    case typing(conversation: String, user: String, TypingState, at: Timestamp)
}

extension FeedEvent {
    /// Whether a log begins with it.
    package var isBeginning: Bool {
        if case .record(_, _, _, _, isNew: true) = self { true } else { false }
    }

    /// Whether it says who takes part, whatever was known before.
    package var namesEverybody: Bool {
        if case .record(let record, _, _, _, _) = self { record.namesEverybody } else { false }
    }

    /// Who took part until slot 0 changed, and does not any more, or joined anew.
    package var removed: [String] {
        if case .record(_, _, let removed, _, _) = self { removed } else { [] }
    }

    /// How slot 0 came out of the record of that rev; nil if it names everybody by itself.
    package func step(since rev: Int) -> RecordStep? {
        guard case .record(let record, _, let removed, let joined, _) = self,
            !record.namesEverybody
        else { return nil }
        return RecordStep(since: rev, removed: removed, joined: joined)
    }

    /// Of the log that changed, or ended; nil if none did.
    package var epoch: String? {
        if case .deleted(_, let epoch, _) = self { epoch } else { head?.epoch }
    }

    /// The value of the place that changed; nil if that is slot 0, or nothing changed.
    package var message: EncodedMessage? {
        if case .message(_, _, let message, _) = self { message } else { nil }
    }

    /// Of the log right after the change; nil if it is none.
    package var head: Head? {
        switch self {
        case .message(_, _, _, let head), .record(_, let head, _, _, _): head
        case .deleted, .read, .listed, .typing: nil
        }
    }
}
