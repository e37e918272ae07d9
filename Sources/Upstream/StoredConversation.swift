import Chat
import JSON
import Ports
import Wire

/// A conversation as an origin on a server returns it: slot 0, members, head, last message and, if
/// there is a viewer, that user's read marker. A value, read from one reply.
package struct StoredConversation {
    let id: String
    let head: Head
    let recordRev: Int
    let title: String?
    let metadata: RawJSON
    let unknown: [JSONMember]
    let createdAt: Timestamp
    let updatedAt: Timestamp
    /// In the order in which they joined. All members, or, in a large conversation, those who were
    /// asked for and the admins.
    package let members: [StoredMember]
    /// The number of participants.
    let memberCount: Int
    package let last: EncodedMessage?
    let reader: ReaderState?
    /// For a distinct conversation: the key made of its participants.
    let people: String?
    /// The client that created it; nil if the backend did.
    let createdBy: String?
    /// Whether member rows are lost; `members` is then empty, or holds those that are left.
    var isMemberless = false

    var users: [String] { members.map(\.user) }
    var admins: [String] { members.filter(\.isAdmin).map(\.user) }

    func member(_ user: String) -> StoredMember? { members.first { $0.user.isSameID(user) } }

    /// Whether `members` holds all participants.
    var isWhole: Bool { members.count == memberCount }

    package var record: Record {
        var record = Record(
            id: id, title: title, participants: isWhole ? users : [], admins: admins,
            metadata: metadata, createdAt: createdAt, updatedAt: updatedAt, rev: recordRev,
            unknown: unknown)
        record.unnamed = isWhole ? 0 : memberCount
        return record
    }

    package var shown: ConversationView {
        ConversationView(
            record: record, lastMessage: last, head: head, reader: reader, createdBy: createdBy)
    }
}

/// A participant as stored.
package struct StoredMember {
    package var user: String
    var isAdmin: Bool
    var place: Int
    var createdAt: Timestamp
    var updatedAt: Timestamp
    /// The head's seq when the user joined; 0 where an earlier version let them join.
    var joinedSeq: Int
    package var name: String?
    package var metadata: RawJSON?
    package var unknown: [JSONMember]

    /// The fields that an origin stores as opaque bytes. The scripts of Redis look for `joinedSeq`
    /// at the beginning.
    package static func fields(
        name: String?, metadata: RawJSON?, unknown: [JSONMember], joinedSeq: Int = 0
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if joinedSeq > 0 { json.member("joinedSeq", int: joinedSeq) }
        if let name { json.member("name", string: name) }
        if let metadata { json.member("metadata", raw: metadata) }
        if !unknown.isEmpty { json.member("unknown", members: unknown) }
        json.endObject()
        return json.bytes
    }

    /// Place and time of joining; a change of the fields keeps them.
    var joined: String { "\(place)\t\(createdAt.milliseconds)" }

    /// The participant object of the protocol.
    package func json(lastReadSeq: Int) -> [UInt8] {
        Participant(
            id: user, name: name, lastReadSeq: lastReadSeq, joinedSeq: joinedSeq,
            createdAt: createdAt, updatedAt: updatedAt, metadata: metadata ?? .emptyObject,
            unknown: unknown
        ).json
    }
}

extension RawJSON {
    /// An application's object as stored; nil if it is not an object or is nested too deep. The
    /// check is needed because it goes into frames unchanged, and other writers of the origin may
    /// have stored anything.
    init?(stored bytes: [UInt8]) {
        guard let value = try? RawJSON(bytes), value.kind == .object, Nesting.isKept(by: value)
        else { return nil }
        self = value
    }
}

extension [JSONMember] {
    /// An application's fields as stored; nil if they are not an object or are nested too deep.
    init?(stored bytes: [UInt8]) {
        guard let members = try? JSONObject(bytes).members, Nesting.isKept(by: members) else {
            return nil
        }
        self = members
    }
}
