import JSON

/// A `Conversation` and its head, read from JSON and written as JSON.
extension Conversation {
    private static let record = "conversation"

    /// The conversation in a JSON text.
    /// - Throws: `RecordError`, which names the field; the caller can only drop the text.
    public init(_ text: [UInt8]) throws(RecordError) {
        try self.init(JSONObject(text, record: Self.record))
    }

    /// The conversation in a JSON object; only `id` is required.
    /// - Throws: `RecordError`, which names the field; the caller can only drop the object.
    public init(_ object: JSONObject) throws(RecordError) {
        var id: String?
        var read = Conversation(id: "")
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "id": id = try field.id()
            case "title": read.title = field.isNull ? nil : try field.string()
            case "participants": read.participants = field.isNull ? nil : try field.ids()
            case "participantCount":
                read.participantCount = field.isNull ? nil : try field.integer(from: 0)
            case "admins": read.admins = field.isNull ? [] : try field.ids()
            case "metadata":
                read.metadata = field.isNull ? .emptyObject : try field.objectText()
            case "createdAt": read.createdAt = field.isNull ? nil : try field.moment()
            case "updatedAt": read.updatedAt = field.isNull ? nil : try field.moment()
            case "rev": read.rev = field.isNull ? nil : try field.integer(from: 1)
            case "lastMessage":
                read.lastMessage = field.isNull ? nil : try field.nested(Message.init)
            case "head": read.head = field.isNull ? nil : try field.nested(Head.init)
            case "unreadCount": read.unreadCount = field.isNull ? nil : try field.integer(from: 0)
            case "unreadMentions":
                // Any other value is one that an earlier version stored.
                read.unreadMentions = member.value.int.flatMap { $0 >= 0 ? $0 : nil }
                if read.unreadMentions == nil { read.unknown.append(member) }
            case "lastReadSeq": read.lastReadSeq = field.isNull ? nil : try field.integer(from: 0)
            default: read.unknown.append(member)
            }
        }
        guard let id else { throw .missing("id", of: Self.record) }
        read.id = id
        read.participantCount = read.participantCount ?? read.participants?.count
        self = read
    }

    /// The conversation as a JSON text.
    public var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// Writes the conversation as one value. If only the id is known, writes `{"id": …}`. Otherwise
    /// omits unknown fields; if the head is known and there is no last message, writes
    /// `lastMessage` as `null`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", string: id)
        if self != Conversation(id: id) { writeFields(to: &writer) }
        writer.endObject()
    }

    private func writeFields(to writer: inout JSONWriter) {
        writer.member("title", string: title)
        if let participants { writer.member("participants", strings: participants) }
        if let participantCount { writer.member("participantCount", int: participantCount) }
        writer.member("admins", strings: admins)
        writer.member("metadata", raw: metadata)
        if let createdAt { writer.member("createdAt", moment: createdAt) }
        if let updatedAt { writer.member("updatedAt", moment: updatedAt) }
        if let rev { writer.member("rev", int: rev) }
        if let lastMessage {
            writer.key("lastMessage")
            lastMessage.write(to: &writer)
        } else if head != nil {
            writer.key("lastMessage")
            writer.null()
        }
        if let head {
            writer.key("head")
            head.write(to: &writer)
        }
        if let unreadCount { writer.member("unreadCount", int: unreadCount) }
        if let lastReadSeq { writer.member("lastReadSeq", int: lastReadSeq) }
        if let unreadMentions { writer.member("unreadMentions", int: unreadMentions) }
        for member in unknown { writer.member(member) }
    }
}

extension Conversation.Head {
    private static let record = "head"

    /// The head in a JSON object; every field is required except `floor`, which defaults to 1.
    /// - Throws: `RecordError`, which names the field.
    public init(_ object: JSONObject) throws(RecordError) {
        var epoch: String?
        var seq: Int?
        var rev: Int?
        var mark: String?
        var floor = 1
        var unknown: [JSONMember] = []
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "epoch": epoch = try field.string()
            case "seq": seq = try field.integer(from: 0)
            case "rev": rev = try field.integer(from: 0)
            case "mark": mark = try field.string()
            case "floor": floor = field.isNull ? 1 : try field.integer(from: 1)
            default: unknown.append(member)
            }
        }
        guard let epoch else { throw .missing("epoch", of: Self.record) }
        guard let seq else { throw .missing("seq", of: Self.record) }
        guard let rev else { throw .missing("rev", of: Self.record) }
        guard let mark else { throw .missing("mark", of: Self.record) }
        self.init(epoch: epoch, seq: seq, rev: rev, mark: mark, floor: floor, unknown: unknown)
    }

    /// Writes the head as one value.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("epoch", string: epoch)
        writer.member("seq", int: seq)
        writer.member("rev", int: rev)
        writer.member("mark", string: mark)
        writer.member("floor", int: floor)
        for member in unknown { writer.member(member) }
        writer.endObject()
    }
}
