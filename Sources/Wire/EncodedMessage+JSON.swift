import Chat
import JSON

/// The way between a message's parts and the text that is stored and sent. The shape itself is
/// `Chat.Message`; here it meets the numbers of a log, which every stored message has.
extension EncodedMessage {
    /// Writes the message object. A tombstone keeps its place, author and times and nothing else,
    /// unknown fields included: they were content.
    package static func encode(
        id: String, conversation: String, seq: Int, rev: Int, author: String, body: String?,
        attachment: RawJSON?, metadata: RawJSON?, createdAt: Timestamp, editedAt: Timestamp?,
        deleted: Bool, unknown: [JSONMember]
    ) -> EncodedMessage {
        let message = Message(
            id: id, conversation: conversation, seq: seq, rev: rev, author: author, body: body,
            attachment: attachment, metadata: metadata ?? .emptyObject, createdAt: createdAt,
            editedAt: editedAt, unknown: deleted ? [] : unknown)
        var json = JSONWriter(capacity: 256 + (body?.utf8.count ?? 0))
        (deleted ? message.tombstone : message).write(to: &json)
        return EncodedMessage(
            seq: seq, rev: rev, id: id, author: author, isDeleted: deleted, createdAt: createdAt,
            json: json.bytes)
    }

    /// What is known of a message that the log does not have any more, as of its insertion.
    package static func trimmed(
        id: String, conversation: String, seq: Int, rev: Int, author: String, createdAt: Timestamp
    ) -> EncodedMessage {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        json.member("id", string: id)
        json.member("conversation", string: conversation)
        json.member("seq", int: seq)
        json.member("rev", int: rev)
        json.member("author", string: author)
        json.member("createdAt", string: createdAt.description)
        json.member("trimmed", bool: true)
        json.endObject()
        return EncodedMessage(
            seq: seq, rev: rev, id: id, author: author, isDeleted: false, createdAt: createdAt,
            json: json.bytes)
    }

    /// The parts of a message's text, for an edit or for one that an origin sent.
    /// - Throws: `RecordError`, which names the field.
    package static func decode(json: [UInt8]) throws(RecordError) -> Message {
        try Message(json)
    }
}
