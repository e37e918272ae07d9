import Chat
import JSON

/// Decodes what users and the backend write into a log: messages, edits, records, participants. The
/// params of a frame and the bodies of the server API have the same fields.
///
/// Fields that the protocol does not name belong to the application and are kept. A name that the
/// protocol uses is never kept as unknown, so that a stored object can't contradict what the
/// gateway itself says of it.
extension MessageContent {
    /// The fields of a message object, and the params beside it.
    static let known: Set<String> = [
        "id", "conversation", "seq", "rev", "author", "body", "attachment", "metadata",
        "createdAt", "editedAt", "deleted", "cached", "trimmed", "ifRev", "reactions",
        "contentRev", "replyTo", "mentions", "mentionAll",
    ]

    /// How many users one message may name, whatever `limits.mentions` says.
    static let users = 0...1000

    /// The content in a body of the server API, or in an element of one.
    /// - Throws: `bad_request`, naming the field after `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> MessageContent {
        try decode(Fields(object, prefix: prefix))
    }

    static func decode(_ fields: Fields) throws(RequestError) -> MessageContent {
        var content = MessageContent(
            id: try fields.id("id"), body: try fields.stringOrNull("body") ?? nil,
            attachment: try fields.objectTextOrNull("attachment"),
            metadata: try fields.objectText("metadata"),
            replyTo: try fields.id("replyTo").map { Reply(id: $0) },
            mentions: try fields.ids("mentions", count: users)?.distinct ?? [],
            mentionAll: try fields.flag("mentionAll") ?? false)
        content.unknownFields = try fields.unknown(except: known)
        let isEmpty =
            content.body == nil && content.attachment == nil && content.metadata == nil
            && content.unknownFields.isEmpty
        if isEmpty {
            throw fields.missing("body", accepted: "a body, an attachment or metadata")
        }
        return content
    }

    /// The size of the content in bytes, to which the limit on messages applies.
    package var size: Int {
        (body?.utf8.count ?? 0) + (attachment?.bytes.count ?? 0) + (metadata?.bytes.count ?? 0)
            + unknownFields.size
    }

    /// Bytes that are equal for equal contents, regardless of white space and the order of members:
    /// a missing attachment is `null`, missing metadata is `{}`. The id is not part of it. What no
    /// earlier version knew is there only if it is given, so that what was sent before compares as
    /// it did.
    package func canonical() -> [UInt8] {
        var writer = JSONWriter(capacity: size + 64)
        writer.beginArray()
        if let body { writer.string(body) } else { writer.null() }
        writer.raw(attachment?.canonical() ?? RawJSON.null.bytes)
        writer.raw(metadata?.canonical() ?? RawJSON.emptyObject.bytes)
        if unknownFields.isEmpty {
            writer.raw(RawJSON.emptyObject)
        } else {
            writer.raw(RawJSON(unchecked: JSONObject(members: unknown).bytes).canonical())
        }
        if isAddressed {
            writer.beginObject()
            writer.address(replyTo.map { Reply(id: $0.id) }, mentions, all: mentionAll)
            writer.endObject()
        }
        writer.endArray()
        return writer.bytes
    }
}

extension MessageEdit {
    /// The edit in a body of the server API.
    /// - Throws: `bad_request`, naming the field after `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> MessageEdit {
        try decode(Fields(object, prefix: prefix))
    }

    static func decode(_ fields: Fields) throws(RequestError) -> MessageEdit {
        var edit = MessageEdit(
            body: try fields.stringOrNull("body"), metadata: try fields.objectText("metadata"),
            mentions: try fields.ids("mentions", count: MessageContent.users)?.distinct,
            mentionAll: try fields.flag("mentionAll"))
        edit.unknownFields = try fields.unknown(except: MessageContent.known)
        edit.ifRev = try fields.ifRev()
        return edit
    }
}

extension ConversationFields {
    /// Who calls, which decides the fields that may be set.
    package enum Purpose: Sendable {
        /// A client creates a conversation: `participants` is required.
        case creation
        /// A client changes one: participants have methods of their own.
        case update
        /// The server API sets any given field.
        case server
    }

    /// The fields of a conversation object, and the params beside it.
    static let known: Set<String> = [
        "id", "title", "participants", "participantCount", "admins", "metadata", "createdAt",
        "updatedAt", "rev", "lastMessage", "head", "unreadCount", "lastReadSeq", "conversation",
        "distinct", "users", "cached", "createdBy", "ifRev", "unreadMentions",
    ]

    /// How many users a client may name, and how many the backend. The backend's own channels may
    /// be of any size, so its limit only bounds one call.
    static let clientUsers = 0...1000
    static let serverUsers = 0...100_000

    /// The fields in a body of the server API.
    /// - Throws: `bad_request`, naming the field after `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> ConversationFields {
        try decode(Fields(object, prefix: prefix), for: .server)
    }

    static func decode(
        _ fields: Fields, for purpose: Purpose
    ) throws(RequestError) -> ConversationFields {
        var result = ConversationFields(
            title: try fields.stringOrNull("title"), metadata: try fields.objectText("metadata"))
        result.unknownFields = try fields.unknown(except: known)
        switch purpose {
        case .creation:
            result.participants = try fields.requiredIDs("participants", count: clientUsers)
        case .update:
            result.ifRev = try fields.ifRev()
        case .server:
            result.ifRev = try fields.ifRev()
            result.participants = try fields.ids("participants", count: serverUsers)
            result.admins = try fields.ids("admins", count: serverUsers)
        }
        return result
    }
}

extension [String] {
    /// The ids, each once, where it stands first.
    fileprivate var distinct: [String] {
        var seen: Set<ID> = []
        return filter { seen.insert($0.id).inserted }
    }
}

extension [JSONMember] {
    /// The size of names and values in bytes.
    package var size: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.bytes.count } }
}
