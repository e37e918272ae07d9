import Chat
import JSON
import Wire

/// A log's row: every read and write of a conversation begins with it. Read by id in one step.
package struct LogRow: Sendable, Hashable {
    /// The number of the conversation in this file; an id that is reused gets a new one.
    package var cid: Int
    package var id: String
    package var head: Head
    /// The rev of slot 0.
    package var recordRev: Int
    /// The seq of the newest message that is not deleted; 0 if there is none.
    package private(set) var lastSeq: Int
    /// Every message that is not deleted lies at or below it, except the last one; nil where that
    /// is unknown.
    package private(set) var restUpTo: Int?
    /// When the newest message came or the record changed: the order of lists. Messages never go
    /// back in time, so it is also the earliest `createdAt` of a new message.
    package var activity: Timestamp
    /// The list's rev at the last change of this conversation.
    package var touched: Int
    /// The number of participants; nil in a file from before they were counted, until the record
    /// changes.
    package var members: Int?
    /// The seq above which the messages are the log's tail, which is not folded yet; nil if it has
    /// none.
    package internal(set) var tail: Int?

    package init(
        cid: Int, id: String, head: Head, recordRev: Int, lastSeq: Int, activity: Timestamp,
        touched: Int, members: Int? = nil, restUpTo: Int? = nil, tail: Int? = nil
    ) {
        self.cid = cid
        self.id = id
        self.head = head
        self.recordRev = recordRev
        self.lastSeq = lastSeq
        self.activity = activity
        self.touched = touched
        self.members = members
        self.restUpTo = restUpTo
        self.tail = tail
    }

    /// How many messages its tail has.
    package var tailLength: Int { tail.map { head.seq - $0 } ?? 0 }

    /// A message that is not deleted is at this place now.
    package mutating func show(_ seq: Int) {
        if seq > lastSeq {
            (restUpTo, lastSeq) = (lastSeq, seq)
        } else if seq < lastSeq, let rest = restUpTo {
            restUpTo = max(rest, seq)
        }
    }

    /// All undeleted messages but the last lie below it: where the search for another last begins.
    package var restEnd: Int { min(restUpTo ?? lastSeq, lastSeq - 1) + 1 }

    /// The last message is no longer there, or deleted; now it is this one, 0 for none.
    package mutating func hideLast(next: Int) { (restUpTo, lastSeq) = (nil, next) }
}

/// The fields of slot 0 that are not participants.
package struct RecordRow: Sendable {
    package var title: String?
    package var metadata: RawJSON
    package var unknown: [JSONMember]
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// The client that created the conversation.
    package var createdBy: String?

    package init(
        title: String?, metadata: RawJSON, unknown: [JSONMember], createdAt: Timestamp,
        updatedAt: Timestamp, createdBy: String? = nil
    ) {
        self.title = title
        self.metadata = metadata
        self.unknown = unknown
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.createdBy = createdBy
    }
}

/// One user's row in a conversation: a participant, a former one, or one who only wrote.
package struct MemberRow: Sendable {
    package var user: String
    package var isMember: Bool
    package var isAdmin: Bool
    package var lastRead: Int
    package var name: String?
    package var metadata: RawJSON?
    package var unknown: [JSONMember]
    /// When the user joined, for a participant.
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// The head's seq when the user joined.
    package var joinedSeq: Int

    package init(
        user: String, isMember: Bool = true, isAdmin: Bool = false, lastRead: Int = 0,
        name: String? = nil, metadata: RawJSON? = nil, unknown: [JSONMember] = [],
        createdAt: Timestamp, updatedAt: Timestamp, joinedSeq: Int = 0
    ) {
        self.user = user
        self.isMember = isMember
        self.isAdmin = isAdmin
        self.lastRead = lastRead
        self.name = name
        self.metadata = metadata
        self.unknown = unknown
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.joinedSeq = joinedSeq
    }

    /// The participant object of `protocol.md` 6.
    package var json: [UInt8] {
        Participant(
            id: user, name: name, lastReadSeq: lastRead, joinedSeq: joinedSeq,
            createdAt: createdAt, updatedAt: updatedAt, metadata: metadata ?? .emptyObject,
            unknown: unknown
        ).json
    }
}

extension Array where Element == JSONMember {
    /// The members as the text of one object, nil if there are none.
    package var stored: [UInt8]? {
        isEmpty ? nil : JSONObject(members: self).bytes
    }

    /// Decodes what `stored` wrote.
    init(stored: [UInt8]?) {
        // This program's own output is well-formed; a damaged row loses its unknown fields.
        self = stored.flatMap { try? JSONObject($0).members } ?? []
    }
}
