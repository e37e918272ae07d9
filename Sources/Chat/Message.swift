import JSON

/// One message of a conversation, as in `protocol.md` 6.
///
/// A plain value without size limits; the gateway enforces those. Unknown fields are kept in
/// `unknown`, with their exact text, and are encoded after the known ones. A deleted message is a
/// *tombstone*: it keeps its place and has no content.
public struct Message: Sendable, Hashable, Identifiable {
    /// The message's id, unique in its conversation.
    public var id: String
    /// The id of its conversation.
    public var conversation: String
    /// Its place in the conversation, from 1; nil if the origin does not number messages, or the
    /// message is still being sent.
    public var seq: Int?
    /// The number of the change that gave it this value, from 1; nil if the origin has no revs.
    public var rev: Int?
    /// The id of the user who wrote it.
    public var author: String
    /// The text, if it has one.
    public var body: String?
    /// The attachment, in the application's own form; nil for none.
    public var attachment: RawJSON?
    /// The application's own object; `{}` if there is none.
    public var metadata: RawJSON
    /// When it was written.
    public var createdAt: Timestamp
    /// When it was last edited, if ever.
    public var editedAt: Timestamp?
    /// The message to which it replies, if it does.
    public var replyTo: Reply?
    /// The ids of the users whom it mentions.
    public var mentions: [String]
    /// Whether it mentions everybody.
    public var mentionAll: Bool
    /// How users reacted to it, by key in the order in which the keys came.
    public var reactions: [Reaction]
    /// The rev of the last change that was no reaction; nil where that is `rev`.
    public var contentRev: Int?
    /// Whether it is a tombstone.
    public private(set) var isDeleted: Bool
    /// The fields that this library does not know.
    public var unknown: [JSONMember]

    /// A message that is not deleted.
    public init(
        id: String, conversation: String, seq: Int? = nil, rev: Int? = nil, author: String,
        body: String? = nil, attachment: RawJSON? = nil, metadata: RawJSON = .emptyObject,
        createdAt: Timestamp, editedAt: Timestamp? = nil, replyTo: Reply? = nil,
        mentions: [String] = [], mentionAll: Bool = false, reactions: [Reaction] = [],
        contentRev: Int? = nil, unknown: [JSONMember] = []
    ) {
        self.id = id
        self.conversation = conversation
        self.seq = seq
        self.rev = rev
        self.author = author
        self.body = body
        self.attachment = attachment
        self.metadata = metadata
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.replyTo = replyTo
        self.mentions = mentions
        self.mentionAll = mentionAll
        self.reactions = reactions
        self.contentRev = contentRev
        self.isDeleted = false
        self.unknown = unknown
    }

    /// The same message as a tombstone: deleted, without body, attachment, metadata, reply,
    /// mentions or reactions. Unknown fields stay; the code that deletes decides which of them are
    /// content.
    public var tombstone: Message {
        var message = self
        message.isDeleted = true
        message.body = nil
        message.attachment = nil
        message.metadata = .emptyObject
        (message.replyTo, message.mentions, message.mentionAll) = (nil, [], false)
        (message.reactions, message.contentRev) = ([], nil)
        return message
    }
}

extension Message {
    private static let record = "message"

    /// The message in a JSON text.
    /// - Throws: `RecordError`, which names the field; the caller can only drop the text.
    public init(_ text: [UInt8]) throws(RecordError) {
        try self.init(JSONObject(text, record: Self.record))
    }

    /// The message in a JSON object. `id`, `conversation`, `author` and `createdAt` are required;
    /// the content of a deleted message is dropped.
    /// - Throws: `RecordError`, which names the field; the caller can only drop the object.
    public init(_ object: JSONObject) throws(RecordError) {
        var id: String?
        var conversation: String?
        var author: String?
        var createdAt: Timestamp?
        var read = Message(
            id: "", conversation: "", author: "", createdAt: Timestamp(milliseconds: 0))
        var isDeleted = false
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "id": id = try field.id()
            case "conversation": conversation = try field.id()
            case "author": author = try field.id()
            case "createdAt": createdAt = try field.moment()
            case "seq": read.seq = field.isNull ? nil : try field.integer(from: 1)
            case "rev": read.rev = field.isNull ? nil : try field.integer(from: 1)
            case "body": read.body = field.isNull ? nil : try field.string()
            case "attachment": read.attachment = field.isNull ? nil : member.value
            case "metadata":
                read.metadata = field.isNull ? .emptyObject : try field.objectText()
            case "editedAt": read.editedAt = field.isNull ? nil : try field.moment()
            // Of these, any other value is one that an earlier version stored.
            case "replyTo":
                read.replyTo = Reply(member.value)
                if read.replyTo == nil { read.unknown.append(member) }
            case "mentions":
                let users = member.value.array?.map(\.string) ?? []
                read.mentions = users.compactMap(\.self)
                if users.isEmpty || read.mentions.count != users.count {
                    read.mentions = []
                    read.unknown.append(member)
                }
            case "mentionAll":
                read.mentionAll = member.value.bool == true
                if !read.mentionAll { read.unknown.append(member) }
            case "reactions":
                if let reactions = [Reaction](member.value) {
                    read.reactions = reactions
                } else {
                    read.unknown.append(member)
                }
            case "contentRev":
                if let rev = member.value.int, rev > 0 {
                    read.contentRev = rev
                } else {
                    read.unknown.append(member)
                }
            case "deleted": isDeleted = field.isNull ? false : try field.bool()
            default: read.unknown.append(member)
            }
        }
        guard let id else { throw .missing("id", of: Self.record) }
        guard let conversation else { throw .missing("conversation", of: Self.record) }
        guard let author else { throw .missing("author", of: Self.record) }
        guard let createdAt else { throw .missing("createdAt", of: Self.record) }
        read.id = id
        read.conversation = conversation
        read.author = author
        read.createdAt = createdAt
        self = isDeleted ? read.tombstone : read
    }

    /// The message as a JSON text.
    public var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// Writes the message as one value. Omits `seq` and `rev` where they are nil, and the content
    /// of a tombstone.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", string: id)
        writer.member("conversation", string: conversation)
        if let seq { writer.member("seq", int: seq) }
        if let rev { writer.member("rev", int: rev) }
        writer.member("author", string: author)
        if !isDeleted {
            writer.member("body", string: body)
            writer.member("attachment", raw: attachment ?? .null)
            writer.member("metadata", raw: metadata)
        }
        writer.member("createdAt", moment: createdAt)
        writer.member("editedAt", moment: editedAt)
        writer.member("deleted", bool: isDeleted)
        writer.address(replyTo, mentions, all: mentionAll)
        reactions.write(to: &writer)
        if let contentRev { writer.member("contentRev", int: contentRev) }
        for member in unknown { writer.member(member) }
        writer.endObject()
    }
}

extension JSONWriter {
    /// A member with a moment or `null`.
    mutating func member(_ name: String, moment: Timestamp?) {
        key(name)
        guard let moment else { return null() }
        raw {
            $0.append(UInt8(ascii: "\""))
            moment.appendRFC3339(to: &$0)
            $0.append(UInt8(ascii: "\""))
        }
    }

    /// A member with a list of strings.
    mutating func member(_ name: String, strings: [String]) {
        key(name)
        beginArray()
        for string in strings { self.string(string) }
        endArray()
    }
}
