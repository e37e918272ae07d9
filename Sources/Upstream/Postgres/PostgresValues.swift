import Chat
import JSON
import Ports
import Wire

/// Reads values from the replies of our database functions: JSON objects, in which an application's
/// values are the text that it gave.
extension Head {
    init?(postgres value: RawJSON) {
        guard let object = value.object, let epoch = object["epoch"]?.string,
            let seq = object["seq"]?.place, let rev = object["rev"]?.place,
            let mark = object["mark"]?.string, let floor = object["floor"]?.place
        else { return nil }
        self.init(epoch: epoch, seq: seq, rev: rev, mark: mark, floor: floor)
    }
}

extension RawJSON {
    /// A number of a log: not negative, and below 2^53.
    var place: Int? { int.flatMap { (0..<1 << 53).contains($0) ? $0 : nil } }

    /// The value; nil for `null`.
    fileprivate var given: RawJSON? { isNull ? nil : self }

    fileprivate var timestamp: Timestamp? { int.map { Timestamp(milliseconds: Int64($0)) } }
}

/// A message as the database returns it.
struct PostgresMessage {
    var seq: Int
    var slot: StoredMessage

    init?(_ value: RawJSON) {
        guard let object = value.object, let seq = object["seq"]?.place,
            let rev = object["rev"]?.place, let created = object["createdAt"]?.timestamp,
            let id = object["id"]?.string, let author = object["author"]?.string
        else { return nil }
        self.seq = seq
        let isDeleted = object["deleted"]?.bool ?? false
        let isTrimmed = object["trimmed"]?.bool ?? false
        var content = MessageContent()
        if !isDeleted, !isTrimmed {
            guard let stored = object["content"]?.given,
                let read = StoredMessage.content(stored.bytes)
            else { return nil }
            content = read
        }
        slot = StoredMessage(
            rev: rev, createdAt: created, editedAt: object["editedAt"]?.timestamp,
            isDeleted: isDeleted, isTrimmed: isTrimmed, id: id, author: author, content: content)
        if let shown = object["reactions"]?.given {
            guard let contentRev = object["contentRev"]?.place,
                let reactions = StoredReactions(
                    shown.bytes, contentRev: contentRev, upTo: rev)
            else { return nil }
            slot.reactions = reactions
        }
    }

    func encoded(in conversation: String) -> EncodedMessage {
        slot.encoded(conversation: conversation, seq: seq)
    }
}

extension EncodedMessage {
    init?(postgres value: RawJSON, of conversation: String) {
        guard let message = PostgresMessage(value) else { return nil }
        self = message.encoded(in: conversation)
    }
}

extension StoredMember {
    init?(postgres value: RawJSON, at place: Int) {
        guard let object = value.object, let user = object["user"]?.string else { return nil }
        let unknown = object["unknown"]?.object?.members ?? []
        let metadata = object["metadata"]?.given
        guard metadata.map(Nesting.isKept) ?? true, Nesting.isKept(by: unknown) else { return nil }
        self.init(
            user: user, isAdmin: object["admin"]?.bool ?? false, place: place,
            createdAt: object["createdAt"]?.timestamp ?? Timestamp(milliseconds: 0),
            updatedAt: object["updatedAt"]?.timestamp ?? Timestamp(milliseconds: 0),
            joinedSeq: object["joinedSeq"]?.place ?? 0,
            name: object["name"]?.string, metadata: metadata, unknown: unknown)
    }
}

extension StoredConversation {
    /// - Parameter isMemberless: whether some of those who take part are lost.
    init?(postgres value: RawJSON, of id: String, isMemberless: Bool = false) {
        guard let object = value.object, let head = object["head"].flatMap({ Head(postgres: $0) }),
            let rev = object["rev"]?.place, let created = object["createdAt"]?.timestamp,
            let updated = object["updatedAt"]?.timestamp,
            let metadata = RawJSON(
                stored: object["metadata"]?.given?.bytes ?? RawJSON.emptyObject.bytes),
            let unknown = [JSONMember](
                stored: object["unknown"]?.given?.bytes ?? RawJSON.emptyObject.bytes)
        else { return nil }
        var members: [StoredMember] = []
        for (place, value) in (object["members"]?.array ?? []).enumerated() {
            guard let member = StoredMember(postgres: value, at: place) else { return nil }
            members.append(member)
        }
        var last: EncodedMessage?
        if let value = object["last"]?.given {
            guard let message = EncodedMessage(postgres: value, of: id) else { return nil }
            last = message
        }
        let reading = object["reader"]?.given?.object
        self.init(
            id: id, head: head, recordRev: rev, title: object["title"]?.string,
            metadata: metadata, unknown: unknown, createdAt: created, updatedAt: updated,
            members: members, memberCount: object["count"]?.place ?? members.count, last: last,
            reader: reading.map {
                ReaderState(
                    lastReadSeq: $0["read"]?.place ?? 0, unreadCount: $0["unread"]?.place ?? 0,
                    unreadMentions: $0["mentions"]?.place ?? 0)
            },
            people: object["people"]?.string, createdBy: object["createdBy"]?.string,
            isMemberless: isMemberless)
    }
}

/// The reply of one of our database functions: a word, and what comes with it.
struct PostgresAnswer: Sendable {
    /// The SQLSTATE with which the server refused this job of a task alone.
    var refusedWith: String? { word == "error" ? self["state"]?.string ?? "" : nil }

    let word: String
    let object: JSONObject

    init?(_ text: [UInt8]?) {
        guard let text, let object = try? JSONObject(text), let word = object["word"]?.string else {
            return nil
        }
        self.word = word
        self.object = object
    }

    /// A value; nil if it is missing or `null`.
    subscript(key: String) -> RawJSON? { object[key].flatMap { $0.isNull ? nil : $0 } }
}
