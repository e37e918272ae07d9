import Chat
import JSON
import Wire

/// Who asks for a write: a user, with the rights of `protocol.md` 3, or the backend by the server
/// API, which may do everything.
package enum Caller: Sendable, Hashable {
    case user(String)
    case server

    /// The payer that queues charge for it.
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
    /// Whether, if it mentions everybody, only an admin may send it, where there are any.
    package var asksAdmin: Bool

    package init(author: String, content: MessageContent, asksAdmin: Bool = false) {
        self.author = author
        self.content = content
        self.asksAdmin = asksAdmin
    }
}

/// A reaction to a message that begins or ends.
package struct ReactionCall: Sendable, Hashable {
    package var key: String
    package var isOn: Bool
    /// Whose it is; nil: the caller's.
    package var user: String?

    package init(key: String, isOn: Bool, user: String? = nil) {
        self.key = key
        self.isOn = isOn
        self.user = user
    }
}

/// A participant to add: the id and, from the server API, the object's fields.
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

/// A write for the origin. The origin decides about everything (membership, rights, taken ids) in
/// the transaction that writes.
package enum Operation: Sendable, Hashable {
    /// One change per message; all of them or none.
    case send(conversation: String, [NewMessage])
    case edit(conversation: String, id: String, MessageEdit)
    case delete(conversation: String, id: String, ifRev: Int? = nil)
    /// A user reacts to a message, or takes that back. `user`: whose reaction, if not the caller's.
    case react(conversation: String, id: String, ReactionCall)
    /// By a client: the caller becomes participant and admin.
    case create(id: String?, ConversationFields, distinct: Bool)
    /// The distinct conversation of the caller and these users, for a client that may not create
    /// it; if there is none, the error.
    case findDistinct(ConversationFields, otherwise: RequestError)
    /// By the server API: create it, or change the given fields.
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
    /// Whether it is to have a message mention everybody.
    package var mentionsAll: Bool {
        switch self {
        case .send(_, let messages): messages.contains(where: \.content.mentionAll)
        case .edit(_, _, let edit): edit.mentionAll == true
        case .delete, .react, .create, .findDistinct, .put, .update, .addParticipants,
            .removeParticipants, .addAdmins, .removeAdmins, .deleteConversation, .leave, .markRead:
            false
        }
    }

    /// Whether it sends or edits fields that an earlier version would lose.
    package var isAddressed: Bool {
        switch self {
        case .send(_, let messages): messages.contains(where: \.content.isAddressed)
        case .edit(_, _, let edit): edit.isAddressed
        case .delete, .react, .create, .findDistinct, .put, .update, .addParticipants,
            .removeParticipants, .addAdmins, .removeAdmins, .deleteConversation, .leave, .markRead:
            false
        }
    }

    /// Estimated rows that it writes: messages and participants.
    package var rows: Int {
        switch self {
        case .send(_, let messages): messages.count
        case .put(_, let fields), .create(_, let fields, _), .findDistinct(let fields, _):
            1 + (fields.participants?.count ?? 0)
        case .addParticipants(_, let users): 1 + users.count
        case .removeParticipants(_, let users), .addAdmins(_, let users),
            .removeAdmins(_, let users):
            1 + users.count
        case .edit, .delete, .react, .update, .deleteConversation, .leave, .markRead: 1
        }
    }

    /// Estimated bytes of the values that it writes, without ids.
    package var bytes: Int {
        switch self {
        case .send(_, let messages): messages.reduce(0) { $0 + $1.content.size }
        case .edit(_, _, let edit):
            (edit.body??.utf8.count ?? 0) + Self.bytes(edit.metadata, edit.unknownFields)
        case .put(_, let fields), .create(_, let fields, _), .findDistinct(let fields, _),
            .update(_, let fields):
            (fields.title??.utf8.count ?? 0) + Self.bytes(fields.metadata, fields.unknownFields)
        case .addParticipants(_, let users):
            users.reduce(0) { $0 + Self.bytes($1.metadata, UnknownFields($1.unknown)) }
        case .delete, .react, .deleteConversation, .leave, .markRead, .removeParticipants,
            .addAdmins, .removeAdmins:
            0
        }
    }

    private static func bytes(_ metadata: RawJSON?, _ unknown: UnknownFields) -> Int {
        (metadata?.bytes.count ?? 0) + unknown.size
    }
}

/// A conversation as replies show it.
package struct ConversationView: Sendable, Hashable {
    package var record: Record
    /// The newest message that is not deleted.
    package var lastMessage: EncodedMessage?
    package var head: Head
    /// The caller's own fields, if the caller takes part.
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

    /// Estimated bytes in an answer: everything that may be long, and a constant for the rest.
    package var size: Int {
        let listed = record.participants.prefix(Record.listedParticipants) + record.admins
        return 512 + (lastMessage?.json.count ?? 0) + record.metadata.bytes.count
            + (record.title?.utf8.count ?? 0) + listed.reduce(0) { $0 + $1.utf8.count + 3 }
            + record.unknown.reduce(0) { $0 + $1.key.utf8.count + $1.value.bytes.count + 4 }
    }
}

/// The log after a write, as the origin answered.
package struct Written: Sendable, Hashable {
    package var conversation: String
    package var head: Head

    package init(_ conversation: String, _ head: Head) {
        self.conversation = conversation
        self.head = head
    }
}

/// The result of an operation that was done.
package enum Outcome: Sendable, Hashable {
    /// In the order given, and the log that has them. `isNew` is false if the same author, id and
    /// content had been sent before; then the message is as it is now.
    case messages([EncodedMessage], at: Written, isNew: Bool)
    /// The message as it is after a reaction, and the keys with which the caller reacts to it now.
    case reacted(EncodedMessage, own: [String], at: Written)
    case conversation(ConversationView, isNew: Bool)
    case read(ReaderState)
    /// The conversation is gone, with so many who took part.
    case removed(people: Int)
    case done

    /// The log that has what was written; nil if the log did not change, or is gone.
    package var written: Written? {
        switch self {
        case .messages(_, let written, _), .reacted(_, _, let written): written
        case .conversation(let view, _): Written(view.record.id, view.head)
        case .read, .removed, .done: nil
        }
    }
}

/// An event of the feed: changes of logs, in order per conversation, and others.
package enum FeedEvent: Sendable, Hashable {
    /// A message was inserted, updated or deleted; `head` is the log's head right after that. The
    /// value may be newer than the change: then the feed also brings the later change, and no
    /// change between them is of slot 0, which might remove a participant. `after`: the mark of the
    /// change before it, which proves that it continues the log that a follower knows; nil from an
    /// origin that can't fork under a feed, or from a gateway of an earlier version.
    case message(
        conversation: String, DeltaType, EncodedMessage, head: Head, after: String? = nil)
    /// Slot 0 changed; the record may be newer than that change too. `removed`: participants before
    /// it who are gone, or rejoined. `joined`: who joined with it, if the record does not name
    /// everybody; the record is then of this very change. `isNew`: it is the first change of its
    /// log. `after`: as of a message.
    case record(
        Record, head: Head, removed: [String], joined: [String] = [], isNew: Bool,
        after: String? = nil)
    /// The log was deleted, with its participants then.
    case deleted(conversation: String, epoch: String, participants: [String])
    /// A read marker moved; not a change of the log.
    case read(conversation: String, user: String, seq: Int)
    /// A conversation joined or left a user's list, by another user's write.
    case listed(user: String, conversation: String, isIn: Bool)
    /// A user is typing; stored nowhere.
    case typing(conversation: String, user: String, TypingState, at: Timestamp)
}

extension FeedEvent {
    /// Whether a log begins with it.
    package var isBeginning: Bool {
        if case .record(_, _, _, _, isNew: true, _) = self { true } else { false }
    }

    /// Whether it names all participants, independent of earlier events.
    package var namesEverybody: Bool {
        if case .record(let record, _, _, _, _, _) = self { record.namesEverybody } else { false }
    }

    /// Whether watchers of lists are told of it: of any change but a reaction. The value may be
    /// newer than the change, so that it is the change that counts.
    package var isToldToLists: Bool {
        guard case .message(_, .updated, let message, let head, _) = self,
            let contentRev = message.contentRev
        else { return true }
        return contentRev >= head.rev
    }

    /// Participants before this change of slot 0 who are gone, or rejoined.
    package var removed: [String] {
        if case .record(_, _, let removed, _, _, _) = self { removed } else { [] }
    }

    /// The change of participants since the record of that rev; nil if the record names everybody.
    package func step(since rev: Int) -> RecordStep? {
        guard case .record(let record, _, let removed, let joined, _, _) = self,
            !record.namesEverybody
        else { return nil }
        return RecordStep(since: rev, removed: removed, joined: joined)
    }

    /// The epoch of the log that changed or ended; nil for other events.
    package var epoch: String? {
        if case .deleted(_, let epoch, _) = self { epoch } else { head?.epoch }
    }

    /// The message that changed; nil for slot 0 and for other events.
    package var message: EncodedMessage? {
        if case .message(_, _, let message, _, _) = self { message } else { nil }
    }

    /// The log's head right after the change; nil for other events.
    package var head: Head? {
        switch self {
        case .message(_, _, _, let head, _), .record(_, let head, _, _, _, _): head
        case .deleted, .read, .listed, .typing: nil
        }
    }

    /// The mark of the change before this one, as far as the feed says it.
    package var after: String? {
        switch self {
        case .message(_, _, _, _, let after), .record(_, _, _, _, _, let after): after
        case .deleted, .read, .listed, .typing: nil
        }
    }
}
