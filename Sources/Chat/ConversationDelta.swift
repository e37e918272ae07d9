import JSON

/// One change of a user's list of conversations: `protocol.md` 5.
///
/// A plain value. All participants get the same one, so it has no per-user field; a deletion
/// carries the bare id.
public struct ConversationDelta: Sendable, Hashable {
    /// What happened.
    public let type: DeltaKind
    /// The conversation as it is after the change.
    public let conversation: Conversation
    /// The fields that this library does not know.
    public let unknown: [JSONMember]

    /// A change of a conversation.
    public init(type: DeltaKind, conversation: Conversation, unknown: [JSONMember] = []) {
        self.type = type
        self.conversation = conversation
        self.unknown = unknown
    }

    private static let record = "conversationDelta"

    /// The delta in a JSON object.
    /// - Throws: `RecordError`, which names the field.
    public init(_ object: JSONObject) throws(RecordError) {
        var type: DeltaKind?
        var conversation: Conversation?
        var unknown: [JSONMember] = []
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "type": type = try field.word(DeltaKind.self)
            case "conversation": conversation = try field.nested(Conversation.init)
            default: unknown.append(member)
            }
        }
        guard let type else { throw .missing("type", of: Self.record) }
        guard let conversation else { throw .missing("conversation", of: Self.record) }
        self.init(type: type, conversation: conversation, unknown: unknown)
    }

    /// Writes the delta as one value.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", string: type.rawValue)
        writer.key("conversation")
        conversation.write(to: &writer)
        for member in unknown { writer.member(member) }
        writer.endObject()
    }
}
