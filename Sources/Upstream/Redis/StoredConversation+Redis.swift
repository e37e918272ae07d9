import Chat
import JSON
import Ports
import Wire

/// Reads a conversation and its members from the scripts' replies.
extension StoredConversation {
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
        guard let members = StoredMember.all(parts[4]) else { return nil }
        self.members = members
        memberCount = parts.count > 8 ? parts[8].place ?? members.count : members.count
        last = EncodedMessage(parts[5], of: id)
        reader = ReaderState(parts[6])
        people = fields[5].string
        createdBy = fields[6].string
        isMemberless = parts.count > 7 && parts[7].int == 1
    }
}

extension StoredMember {
    /// Reads `admin ⇥ place ⇥ createdAt ⇥ updatedAt ⇥ fields`.
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
        joinedSeq = fields["joinedSeq"]?.int ?? 0
        name = fields["name"]?.string
        self.metadata = metadata
        self.unknown = unknown
    }

    /// The members in a hash, in the order in which they joined; nil if one of them can't be read.
    package static func all(_ hash: RedisReply) -> [StoredMember]? {
        let parts = hash.elements
        var members: [StoredMember] = []
        for at in stride(from: 0, to: parts.count - parts.count % 2, by: 2) {
            guard let user = parts[at].string, let value = parts[at + 1].bytes else { return nil }
            // The tag of the log is nobody.
            if user.utf8.first == UInt8(ascii: "\t") { continue }
            guard let member = StoredMember(user, value) else { return nil }
            members.append(member)
        }
        return members.sorted { $0.place < $1.place }
    }
}

extension Head {
    /// Reads a head from a script's reply.
    package init?(_ reply: RedisReply) {
        let parts = reply.elements
        guard parts.count == 5, let epoch = parts[0].string, let seq = parts[1].place,
            let rev = parts[2].place, let mark = parts[3].bytes, let floor = parts[4].place
        else { return nil }
        self.init(epoch: epoch, seq: seq, rev: rev, mark: Hexadecimal.text(mark), floor: floor)
    }
}

extension ReaderState {
    /// Reads a user's numbers of a conversation from a script's reply.
    init?(_ reply: RedisReply) {
        let reading = reply.elements.compactMap(\.place)
        guard reading.count == 3 else { return nil }
        self.init(
            lastReadSeq: reading[0], unreadCount: reading[1], unreadMentions: reading[2])
    }
}

extension EncodedMessage {
    /// Reads a message from a script's reply: seq and value.
    package init?(_ reply: RedisReply, of conversation: String) {
        let parts = reply.elements
        guard parts.count == 2, let seq = parts[0].place,
            let slot = parts[1].bytes.flatMap({ StoredMessage($0) })
        else { return nil }
        self = slot.encoded(conversation: conversation, seq: seq)
    }
}
