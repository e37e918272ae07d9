import Chat
import Crypto
import JSON
import Wire

/// A message as an origin on a server stores it: the numbers that the origin needs, and the content
/// as one opaque JSON object. The reader builds the protocol's message object from it, so the
/// origin need not know its shape.
package struct StoredMessage: Sendable {
    var rev: Int
    var createdAt: Timestamp
    var editedAt: Timestamp?
    var isDeleted: Bool
    /// The content was trimmed: only id, author, time and numbers remain.
    var isTrimmed: Bool
    var id: String
    var author: String
    var content: MessageContent
    /// What it shows of reactions; nil if nobody ever reacted.
    var reactions: StoredReactions?

    /// The message that the slot at `seq` holds.
    package func encoded(conversation: String, seq: Int) -> EncodedMessage {
        if isTrimmed {
            return EncodedMessage.trimmed(
                id: id, conversation: conversation, seq: seq, rev: rev, author: author,
                createdAt: createdAt)
        }
        return EncodedMessage.encode(
            id: id, conversation: conversation, seq: seq, rev: rev, author: author,
            body: content.body, attachment: content.attachment, metadata: content.metadata,
            createdAt: createdAt, editedAt: editedAt, deleted: isDeleted,
            replyTo: content.replyTo, mentions: content.mentions, mentionAll: content.mentionAll,
            reactions: reactions?.shown ?? [], contentRev: reactions?.contentRev, unknown: unknown)
    }

    /// The unknown fields. Of those that an earlier version stored under the names of later fields,
    /// only where the message has none of these.
    private var unknown: [JSONMember] {
        let address = EncodedMessage.Address(
            content.replyTo, content.mentions, all: content.mentionAll)
        var names = Set(address.names)
        if reactions != nil { names.formUnion(EncodedMessage.namesOfReactions) }
        return names.isEmpty
            ? content.unknown : content.unknown.filter { !names.contains($0.key) }
    }

    // MARK: content

    /// Encodes content for storage.
    /// - Parameter isAddressed: whether to what it replies and whom it mentions is part of it.
    package static func stored(
        _ content: MessageContent, addressed isAddressed: Bool = true
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 64 + (content.body?.utf8.count ?? 0))
        json.beginObject()
        if let body = content.body { json.member("body", string: body) }
        if let attachment = content.attachment { json.member("attachment", raw: attachment) }
        if let metadata = content.metadata { json.member("metadata", raw: metadata) }
        if isAddressed {
            json.address(content.replyTo, content.mentions, all: content.mentionAll)
        }
        if !content.unknown.isEmpty { json.member("unknown", members: content.unknown) }
        json.endObject()
        return json.bytes
    }

    static func content(_ stored: [UInt8]) -> MessageContent? {
        guard let object = try? JSONObject(stored) else { return nil }
        let unknown = object["unknown"]?.object?.members ?? []
        guard object["attachment"].map(Nesting.isKept) ?? true,
            object["metadata"].map(Nesting.isKept) ?? true, Nesting.isKept(by: unknown)
        else { return nil }
        return MessageContent(
            body: object["body"]?.string, attachment: object["attachment"],
            metadata: object["metadata"], replyTo: object["replyTo"].flatMap { Reply($0) },
            mentions: object["mentions"]?.array?.compactMap(\.string) ?? [],
            mentionAll: object["mentionAll"]?.bool ?? false, unknown: unknown)
    }

    /// A hash of what an author sends: half of SHA-256, so that nobody finds two contents with the
    /// same one.
    static func hash(_ content: MessageContent) -> [UInt8] {
        Array(Hexadecimal.text(Array(SHA256.hash(content.canonical()).prefix(16))).utf8)
    }
}

/// What a message shows of reactions, as an origin on a server stores it.
struct StoredReactions: Sendable {
    var shown: [Reaction]
    /// The rev of the last change that was no reaction.
    var contentRev: Int

    /// - Parameter rev: that of the message.
    init?(_ shown: [UInt8], contentRev: Int, upTo rev: Int) {
        guard contentRev <= rev, let json = try? RawJSON(shown), let shown = [Reaction](json) else {
            return nil
        }
        self.shown = shown
        self.contentRev = contentRev
    }

    /// The JSON text of what is shown.
    static func text(_ shown: [Reaction]) -> [UInt8] {
        var json = JSONWriter()
        json.reactions(shown)
        return json.bytes
    }
}

/// Hexadecimal text of marks and hashes.
enum Hexadecimal {
    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The bytes of a text that `text(_:)` wrote; nil for any other.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for at in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[at]), let low = value(digits[at + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension JSONWriter {
    /// A member with an object of these members.
    mutating func member(_ name: String, members: [JSONMember]) {
        key(name)
        beginObject()
        for member in members { self.member(member) }
        endObject()
    }
}
