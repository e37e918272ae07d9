import Chat
import Engine
import JSON
import Ports
import Upstream
import Wire

/// What was taken from a user or a backend can be stored, read again, and told to everybody: a
/// content that some reader behind would refuse could never be got rid of.
enum ContentPromises {
    private static let head = Head(epoch: "e", seq: 1, rev: 1, mark: "m")
    private static let moment = Timestamp(milliseconds: 1_800_000_000_000)

    static func check(_ content: MessageContent) {
        let message = EncodedMessage.encode(
            id: "m", conversation: "c", seq: 1, rev: 1, author: "a", body: content.body,
            attachment: content.attachment, metadata: content.metadata, createdAt: moment,
            editedAt: nil, deleted: false, unknown: content.unknown)
        check(message)
        guard let read = try? EncodedMessage.decode(json: message.json) else {
            return require(false, "a message that was written is read")
        }
        require(read.body == content.body, "the body is kept")
        require(read.metadata == content.metadata ?? .emptyObject, "the metadata are kept")
        require(read.unknown == content.unknown, "unknown fields are kept")
        require((try? RawJSON(content.canonical())) != nil, "a content has a canonical text")
        let slot = Array("1\t2\t\t0\tm\ta\t".utf8) + StoredMessage.stored(content)
        require(StoredMessage(slot) != nil, "what is stored in Redis is read again")
    }

    static func check(_ edit: MessageEdit) {
        check(
            MessageContent(
                body: edit.body ?? nil, metadata: edit.metadata, unknown: edit.unknownFields.members
            ))
    }

    static func check(_ fields: ConversationFields) {
        for id in (fields.participants ?? []) + (fields.admins ?? []) {
            require(Identifier.isValid(id), "a user has an id")
        }
        check(
            Record(
                id: "c", title: fields.title ?? nil, participants: ["a"], admins: ["a"],
                metadata: fields.metadata ?? .emptyObject, createdAt: moment, updatedAt: moment,
                rev: 1, unknown: fields.unknownFields.members))
    }

    /// A message in each frame that carries one whole.
    static func check(_ message: EncodedMessage) {
        let frame = ServerFrame.messages(
            conversation: "c", deltas: [EncodedDelta(.inserted, .live, message)],
            covers: Coverage(1, 1), prev: 0, asOf: 1, head: head, open: false)
        isValid(frame)
        check(record, lastMessage: message)
    }

    static func check(_ record: Record, lastMessage: EncodedMessage? = nil) {
        isValid(ServerFrame.conversations(.inserted, record, lastMessage: lastMessage, head: head))
        isValid(ServerFrame.conversation(record, prev: 0, asOf: 1, head: head, open: false))
        let reply = ServerFrame.reply(id: 1, cached: true) {
            $0.beginObject()
            $0.key("conversations")
            $0.beginArray()
            $0.conversation(record, lastMessage: lastMessage, head: head)
            $0.endArray()
            $0.endObject()
        }
        isValid(reply)
    }

    private static let record = Record(
        id: "c", title: nil, participants: ["a"], admins: [], metadata: .emptyObject,
        createdAt: moment, updatedAt: moment, rev: 1, unknown: [])

    /// A frame is one object that the readers of this house take, the client library's among them.
    static func isValid(_ frame: [UInt8]) {
        do throws(JSONError) {
            let object = try JSONObject(frame)
            require(!object.members.isEmpty, "a frame has members")
        } catch {
            require(false, "a frame is valid: \(error.reason) at byte \(error.offset)")
        }
    }
}

extension ContentPromises {
    static func check(_ participant: NewParticipant) {
        require(Identifier.isValid(participant.user), "a user has an id")
        let stored = StoredMember.fields(
            name: participant.name, metadata: participant.metadata, unknown: participant.unknown)
        let value = Array("0\t1\t2\t3\t".utf8) + stored
        let reply = RedisReply.array([.text(Array(participant.user.utf8)), .text(value)])
        guard let member = StoredMember.all(reply)?.first else {
            return require(false, "what is stored in Redis is read again")
        }
        check(member)
    }

    /// A participant in the answer that carries one.
    static func check(_ member: StoredMember) {
        let reply = ServerFrame.reply(id: 1, cached: false) {
            $0.beginObject()
            $0.key("participants")
            $0.beginArray()
            $0.raw(member.json(lastReadSeq: 0))
            $0.endArray()
            $0.endObject()
        }
        isValid(reply)
    }
}
