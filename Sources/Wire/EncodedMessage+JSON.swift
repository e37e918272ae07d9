import Chat
import JSON

/// Converts between a message's parts and the text that is stored and sent. `Chat.Message` defines
/// the shape; this adds the seq and rev that every stored message has.
extension EncodedMessage {
    /// Encodes the message object; `contentRev` as in `EncodedMessage`. A tombstone keeps its
    /// place, author and times and nothing else; its unknown fields were content too.
    package static func encode(
        id: String, conversation: String, seq: Int, rev: Int, author: String, body: String?,
        attachment: RawJSON?, metadata: RawJSON?, createdAt: Timestamp, editedAt: Timestamp?,
        deleted: Bool, replyTo: Reply? = nil, mentions: [String] = [], mentionAll: Bool = false,
        reactions: [Reaction] = [], contentRev: Int? = nil, unknown: [JSONMember]
    ) -> EncodedMessage {
        let message = Message(
            id: id, conversation: conversation, seq: seq, rev: rev, author: author, body: body,
            attachment: attachment, metadata: metadata ?? .emptyObject, createdAt: createdAt,
            editedAt: editedAt, replyTo: replyTo, mentions: mentions, mentionAll: mentionAll,
            reactions: reactions,
            contentRev: contentRev.flatMap { $0 < rev ? $0 : nil }, unknown: deleted ? [] : unknown)
        var json = JSONWriter(capacity: message.estimate)
        (deleted ? message.tombstone : message).write(to: &json)
        return EncodedMessage(
            seq: seq, rev: rev, id: id, author: author, isDeleted: deleted, createdAt: createdAt,
            contentRev: deleted ? nil : contentRev,
            address: deleted ? [] : Address(replyTo, mentions, all: mentionAll), json: json.bytes)
    }

    /// What is left of a message that the log no longer has, as of its insertion.
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

    /// Decodes a message's text, for an edit or for a message from an origin.
    /// - Throws: `RecordError`, which names the field.
    package static func decode(json: [UInt8]) throws(RecordError) -> Message {
        try Message(json)
    }

    /// The reactions that it shows; none where an earlier version stored something by that name.
    /// - Throws: if its text is no message.
    package func reactions() throws(RecordError) -> [Reaction] {
        contentRev == nil ? [] : try Message(json).reactions
    }

    /// Its value. What an earlier version stored under the names of later fields is among the
    /// unknown ones.
    /// - Throws: if its text is no message.
    package func value() throws(RecordError) -> Message {
        var message = try Message(json)
        var meaningless: Set<String> = []
        if contentRev == nil, !message.reactions.isEmpty || message.contentRev != nil {
            meaningless = Self.namesOfReactions
            (message.reactions, message.contentRev) = ([], nil)
        }
        let read = Address(message.replyTo, message.mentions, all: message.mentionAll)
        let foreign = read.subtracting(address)
        meaningless.formUnion(foreign.names)
        if foreign.contains(.replyTo) { message.replyTo = nil }
        if foreign.contains(.mentions) { message.mentions = [] }
        if foreign.contains(.mentionAll) { message.mentionAll = false }
        guard !meaningless.isEmpty else { return message }
        let names = Set(message.unknown.map(\.key))
        message.unknown += ((try? JSONObject(json))?.members ?? []).filter {
            meaningless.contains($0.key) && !names.contains($0.key)
        }
        return message
    }

    /// Whom it mentions; nobody where an earlier version stored something by that name.
    /// - Throws: if its text is no message.
    package func mentioned() throws(RecordError) -> Mentioned {
        guard !address.isDisjoint(with: [.mentions, .mentionAll]) else { return Mentioned() }
        let message = try value()
        return Mentioned(users: message.mentions, all: message.mentionAll)
    }

    /// The fields of a message that say who reacts.
    package static let namesOfReactions: Set = ["reactions", "contentRev"]

    /// Its content as the author sent it.
    /// - Throws: if its text is no message.
    package func content() throws(RecordError) -> MessageContent {
        let message = try value()
        return MessageContent(
            body: message.body, attachment: message.attachment, metadata: message.metadata,
            replyTo: message.replyTo, mentions: message.mentions, mentionAll: message.mentionAll,
            unknown: message.unknown)
    }
}

extension Message {
    /// The bytes of names and numbers in a message's text.
    private static let frame = 208

    /// The bytes of its text, if nothing in it needs an escape: the text is kept, so it is neither
    /// moved while it grows nor larger than need be.
    fileprivate var estimate: Int {
        var size = Self.frame + id.utf8.count + conversation.utf8.count + author.utf8.count
        size += (body?.utf8.count ?? 0) + (attachment?.bytes.count ?? 0) + metadata.bytes.count
        if let replyTo { size += replyTo.id.utf8.count + 40 }
        for user in mentions { size += user.utf8.count + 3 }
        for reaction in reactions {
            size += reaction.key.utf8.count + 40
            for user in reaction.users { size += user.utf8.count + 3 }
        }
        for member in unknown { size += member.key.utf8.count + member.value.bytes.count + 4 }
        return size
    }
}
