import Chat
import JSON
import Ports
import Wire

/// A conversation as the scripts show it: slot 0, who takes part, the head, the last message and,
/// where there is a viewer, what that one has read. A value, read from one reply.
package struct RedisView {
    let id: String
    let head: Head
    let recordRev: Int
    let title: String?
    let metadata: RawJSON
    let unknown: [JSONMember]
    let createdAt: Timestamp
    let updatedAt: Timestamp
    /// In the order in which they joined.
    package let members: [RedisMember]
    package let last: EncodedMessage?
    let reader: ReaderState?
    /// For a conversation that was created as the only one of some people, what stands for them.
    let people: String?
    /// Whether the members are lost, and none of them is shown.
    let isMemberless: Bool
    /// The client that created it; nil if the backend did.
    let createdBy: String?

    package init?(_ parts: [RedisReply], of id: String) {
        guard parts.count >= 7, let head = Head(parts[1]), let recordRev = parts[2].place else {
            return nil
        }
        self.id = id
        self.head = head
        self.recordRev = recordRev
        let fields = parts[3].elements
        guard fields.count == 7, let created = fields[3].int, let updated = fields[4].int else {
            return nil
        }
        title = fields[0].string
        guard let metadata = RawJSON(stored: fields[1].bytes ?? RawJSON.emptyObject.bytes),
            let unknown = [JSONMember](stored: fields[2].bytes ?? RawJSON.emptyObject.bytes)
        else { return nil }
        self.metadata = metadata
        self.unknown = unknown
        createdAt = Timestamp(milliseconds: Int64(created))
        updatedAt = Timestamp(milliseconds: Int64(updated))
        members = RedisMember.all(parts[4])
        last = EncodedMessage(parts[5], of: id)
        let reading = parts[6].elements
        reader =
            reading.count == 2
            ? ReaderState(
                lastReadSeq: reading[0].place ?? 0, unreadCount: reading[1].place ?? 0) : nil
        people = fields[5].string
        createdBy = fields[6].string
        isMemberless = parts.count > 7 && parts[7].int == 1
    }

    init(
        id: String, head: Head, recordRev: Int, title: String?, metadata: RawJSON,
        unknown: [JSONMember], createdAt: Timestamp, updatedAt: Timestamp, members: [RedisMember],
        last: EncodedMessage?, reader: ReaderState?, people: String?, createdBy: String?
    ) {
        self.id = id
        self.head = head
        self.recordRev = recordRev
        self.title = title
        self.metadata = metadata
        self.unknown = unknown
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.members = members
        self.last = last
        self.reader = reader
        self.people = people
        self.createdBy = createdBy
        isMemberless = false
    }

    var users: [String] { members.map(\.user) }
    var admins: [String] { members.filter(\.isAdmin).map(\.user) }

    func member(_ user: String) -> RedisMember? { members.first { $0.user.isSameID(user) } }

    package var record: Record {
        Record(
            id: id, title: title, participants: users, admins: admins, metadata: metadata,
            createdAt: createdAt, updatedAt: updatedAt, rev: recordRev, unknown: unknown)
    }

    package var shown: ConversationView {
        ConversationView(
            record: record, lastMessage: last, head: head, reader: reader, createdBy: createdBy)
    }
}

/// One who takes part, as it lies in Redis: `admin ⇥ place ⇥ createdAt ⇥ updatedAt ⇥ fields`.
package struct RedisMember {
    var user: String
    var isAdmin: Bool
    var place: Int
    var createdAt: Timestamp
    var updatedAt: Timestamp
    var name: String?
    var metadata: RawJSON?
    var unknown: [JSONMember]

    init(
        user: String, isAdmin: Bool, place: Int, createdAt: Timestamp, updatedAt: Timestamp,
        name: String?, metadata: RawJSON?, unknown: [JSONMember]
    ) {
        self.user = user
        self.isAdmin = isAdmin
        self.place = place
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.name = name
        self.metadata = metadata
        self.unknown = unknown
    }

    init?(_ user: String, _ value: [UInt8]) {
        let parts = value.split(
            separator: UInt8(ascii: "\t"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, let fields = try? JSONObject(Array(parts[4])) else { return nil }
        let metadata = fields["metadata"]
        let unknown = fields["unknown"]?.object?.members ?? []
        guard metadata.map(Nesting.isKept) ?? true, Nesting.isKept(by: unknown) else {
            return nil
        }
        let numbers = parts.prefix(4).map { Int64(String(decoding: $0, as: UTF8.self)) ?? 0 }
        self.user = user
        isAdmin = numbers[0] == 1
        place = Int(numbers[1])
        createdAt = Timestamp(milliseconds: numbers[2])
        updatedAt = Timestamp(milliseconds: numbers[3])
        name = fields["name"]?.string
        self.metadata = metadata
        self.unknown = unknown
    }

    /// The members of a whole hash, in the order in which they joined.
    package static func all(_ hash: RedisReply) -> [RedisMember] {
        let parts = hash.elements
        return stride(from: 0, to: parts.count - parts.count % 2, by: 2)
            .compactMap { at in
                guard let user = parts[at].string, let value = parts[at + 1].bytes else {
                    return nil
                }
                return RedisMember(user, value)
            }
            .sorted { $0.place < $1.place }
    }

    /// The fields that scripts don't look at.
    package static func fields(name: String?, metadata: RawJSON?, unknown: [JSONMember]) -> [UInt8]
    {
        var json = JSONWriter()
        json.beginObject()
        if let name { json.member("name", string: name) }
        if let metadata { json.member("metadata", raw: metadata) }
        if !unknown.isEmpty { json.member("unknown", members: unknown) }
        json.endObject()
        return json.bytes
    }

    /// The place and moment of joining, which a change of the fields keeps.
    var joined: String { "\(place)\t\(createdAt.milliseconds)" }

    /// The participant object of the protocol.
    package func json(lastReadSeq: Int) -> [UInt8] {
        Participant(
            id: user, name: name, lastReadSeq: lastReadSeq, createdAt: createdAt,
            updatedAt: updatedAt, metadata: metadata ?? .emptyObject, unknown: unknown
        ).json
    }
}

extension RawJSON {
    /// An object of an application as it lies in Redis; nil if it is none. It goes into frames as
    /// it is, and whoever else writes to Redis may have put anything there.
    init?(stored bytes: [UInt8]) {
        guard let value = try? RawJSON(bytes), value.kind == .object, Nesting.isKept(by: value)
        else { return nil }
        self = value
    }
}

extension [JSONMember] {
    /// The fields of an application as they lie in Redis; nil if they are no object.
    init?(stored bytes: [UInt8]) {
        guard let members = try? JSONObject(bytes).members, Nesting.isKept(by: members) else {
            return nil
        }
        self = members
    }
}

extension Head {
    /// A head as the scripts answer it.
    package init?(_ reply: RedisReply) {
        let parts = reply.elements
        guard parts.count == 5, let epoch = parts[0].string, let seq = parts[1].place,
            let rev = parts[2].place, let mark = parts[3].bytes, let floor = parts[4].place
        else { return nil }
        self.init(epoch: epoch, seq: seq, rev: rev, mark: Hexadecimal.text(mark), floor: floor)
    }
}

extension EncodedMessage {
    /// A message as the scripts answer it: place and value.
    package init?(_ reply: RedisReply, of conversation: String) {
        let parts = reply.elements
        guard parts.count == 2, let seq = parts[0].place,
            let slot = parts[1].bytes.flatMap({ RedisSlot($0) })
        else { return nil }
        self = slot.encoded(conversation: conversation, seq: seq)
    }
}
