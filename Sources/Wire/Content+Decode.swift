import JSON

/// What users and the backend write into a log: messages, edits, records, participants. The same
/// fields come in the params of a frame and in the bodies of the server API.
///
/// Fields that the protocol does not name are the application's and are kept. A name that the
/// protocol uses for something is never kept as unknown, so that what is stored can't contradict
/// what the gateway itself says of an object.
extension MessageContent {
    /// The names of a message object and of the params beside it.
    static let known: Set<String> = [
        "id", "conversation", "seq", "rev", "author", "body", "attachment", "metadata",
        "createdAt", "editedAt", "deleted", "cached", "trimmed", "ifRev",
    ]

    /// The content in a body of the server API, or in an element of one.
    /// - Throws: `bad_request`, naming the field behind `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> MessageContent {
        try decode(Fields(object, prefix: prefix))
    }

    static func decode(_ fields: Fields) throws(RequestError) -> MessageContent {
        let content = MessageContent(
            id: try fields.id("id"), body: try fields.stringOrNull("body") ?? nil,
            attachment: try fields.objectTextOrNull("attachment"),
            metadata: try fields.objectText("metadata"),
            unknown: try fields.unknown(except: known))
        let isEmpty =
            content.body == nil && content.attachment == nil && content.metadata == nil
            && content.unknown.isEmpty
        if isEmpty {
            throw fields.missing("body", accepted: "a body, an attachment or metadata")
        }
        return content
    }

    /// The bytes that the content takes, by which a limit on messages goes.
    package var size: Int {
        (body?.utf8.count ?? 0) + (attachment?.bytes.count ?? 0) + (metadata?.bytes.count ?? 0)
            + unknown.size
    }

    /// What tells whether two contents are the same, whatever their white space and order of
    /// members: no attachment is `null`, no metadata is `{}`. The id is no part of it.
    package func canonical() -> [UInt8] {
        var writer = JSONWriter(capacity: size + 64)
        writer.beginArray()
        if let body { writer.string(body) } else { writer.null() }
        writer.raw(attachment?.canonical() ?? RawJSON.null.bytes)
        writer.raw(metadata?.canonical() ?? RawJSON.emptyObject.bytes)
        writer.raw(RawJSON(unchecked: JSONObject(members: unknown).bytes).canonical())
        writer.endArray()
        return writer.bytes
    }
}

extension MessageEdit {
    /// The edit in a body of the server API.
    /// - Throws: `bad_request`, naming the field behind `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> MessageEdit {
        try decode(Fields(object, prefix: prefix))
    }

    static func decode(_ fields: Fields) throws(RequestError) -> MessageEdit {
        MessageEdit(
            body: try fields.stringOrNull("body"), metadata: try fields.objectText("metadata"),
            unknown: try fields.unknown(except: MessageContent.known), ifRev: try fields.ifRev())
    }
}

extension ConversationFields {
    /// Which fields a call may set.
    package enum Purpose: Sendable {
        /// A client creates a conversation: `participants` is required.
        case creation
        /// A client changes one: who takes part has methods of its own.
        case update
        /// The server API sets whatever is given.
        case server
    }

    /// The names of a conversation object and of the params beside it.
    static let known: Set<String> = [
        "id", "title", "participants", "participantCount", "admins", "metadata", "createdAt",
        "updatedAt", "rev", "lastMessage", "head", "unreadCount", "lastReadSeq", "conversation",
        "distinct", "users", "cached", "createdBy", "ifRev",
    ]

    /// How many users a client may name, and how many the backend: a channel of its own is as
    /// large as it is, so there the limit only keeps one call bounded.
    static let clientUsers = 0...1000
    static let serverUsers = 0...100_000

    /// The fields in a body of the server API.
    /// - Throws: `bad_request`, naming the field behind `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> ConversationFields {
        try decode(Fields(object, prefix: prefix), for: .server)
    }

    static func decode(
        _ fields: Fields, for purpose: Purpose
    ) throws(RequestError) -> ConversationFields {
        var result = ConversationFields(
            title: try fields.stringOrNull("title"), metadata: try fields.objectText("metadata"),
            unknown: try fields.unknown(except: known))
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

extension [JSONMember] {
    /// The bytes of names and values.
    package var size: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.bytes.count } }
}
