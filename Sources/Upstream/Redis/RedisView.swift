import Chat
import Engine
import JSON
import Wire

/// A conversation as the scripts show it: slot 0, who takes part, the head, the last message and,
/// where there is a viewer, what that one has read. A value, read from one reply.
struct RedisView {
    let id: String
    let head: Head
    let recordRev: Int
    let title: String?
    let metadata: RawJSON
    let unknown: [JSONMember]
    let createdAt: Timestamp
    let updatedAt: Timestamp
    /// In the order in which they joined.
    let members: [RedisMember]
    let last: EncodedMessage?
    let reader: ReaderState?
    /// For a conversation that was created as the only one of some people, what stands for them.
    let people: String?

    init?(_ parts: [RedisReply], of id: String) {
        guard parts.count == 7, let head = Head(parts[1]), let recordRev = parts[2].int else {
            return nil
        }
        self.id = id
        self.head = head
        self.recordRev = recordRev
        let fields = parts[3].elements
        guard fields.count == 6, let created = fields[3].int, let updated = fields[4].int else {
            return nil
        }
        title = fields[0].string
        metadata = fields[1].bytes.map { RawJSON(unchecked: $0) } ?? .emptyObject
        unknown = fields[2].bytes.flatMap { try? JSONObject($0).members } ?? []
        createdAt = Timestamp(milliseconds: Int64(created))
        updatedAt = Timestamp(milliseconds: Int64(updated))
        members = RedisMember.all(parts[4])
        last = EncodedMessage(parts[5], of: id)
        let reading = parts[6].elements
        reader =
            reading.count == 2
            ? ReaderState(
                lastReadSeq: reading[0].int ?? 0, unreadCount: reading[1].int ?? 0) : nil
        people = fields[5].string
    }

    var users: [String] { members.map(\.user) }
    var admins: [String] { members.filter(\.isAdmin).map(\.user) }

    func member(_ user: String) -> RedisMember? { members.first { $0.user.isSameID(user) } }

    var record: Record {
        Record(
            id: id, title: title, participants: users, admins: admins, metadata: metadata,
            createdAt: createdAt, updatedAt: updatedAt, rev: recordRev, unknown: unknown)
    }

    var shown: ConversationView {
        ConversationView(record: record, lastMessage: last, head: head, reader: reader)
    }
}

/// One who takes part, as it lies in Redis: `admin ⇥ place ⇥ createdAt ⇥ updatedAt ⇥ fields`.
struct RedisMember {
    var user: String
    var isAdmin: Bool
    var place: Int
    var createdAt: Timestamp
    var updatedAt: Timestamp
    var name: String?
    var metadata: RawJSON?
    var unknown: [JSONMember]

    init?(_ user: String, _ value: [UInt8]) {
        let parts = value.split(
            separator: UInt8(ascii: "\t"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, let fields = try? JSONObject(Array(parts[4])) else { return nil }
        let numbers = parts.prefix(4).map { Int64(String(decoding: $0, as: UTF8.self)) ?? 0 }
        self.user = user
        isAdmin = numbers[0] == 1
        place = Int(numbers[1])
        createdAt = Timestamp(milliseconds: numbers[2])
        updatedAt = Timestamp(milliseconds: numbers[3])
        name = fields["name"]?.string
        metadata = fields["metadata"]
        unknown = fields["unknown"]?.object?.members ?? []
    }

    /// The members of a whole hash, in the order in which they joined.
    static func all(_ hash: RedisReply) -> [RedisMember] {
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
    static func fields(name: String?, metadata: RawJSON?, unknown: [JSONMember]) -> [UInt8] {
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
    func json(lastReadSeq: Int) -> [UInt8] {
        Participant(
            id: user, name: name, lastReadSeq: lastReadSeq, createdAt: createdAt,
            updatedAt: updatedAt, metadata: metadata ?? .emptyObject, unknown: unknown
        ).json
    }
}

extension Head {
    /// A head as the scripts answer it.
    init?(_ reply: RedisReply) {
        let parts = reply.elements
        guard parts.count == 5, let epoch = parts[0].string, let seq = parts[1].int,
            let rev = parts[2].int, let mark = parts[3].bytes, let floor = parts[4].int
        else { return nil }
        self.init(epoch: epoch, seq: seq, rev: rev, mark: Hexadecimal.text(mark), floor: floor)
    }
}

extension EncodedMessage {
    /// A message as the scripts answer it: place and value.
    init?(_ reply: RedisReply, of conversation: String) {
        let parts = reply.elements
        guard parts.count == 2, let seq = parts[0].int,
            let slot = parts[1].bytes.flatMap({ RedisSlot($0) })
        else { return nil }
        self = slot.encoded(conversation: conversation, seq: seq)
    }
}
