import JSON

/// The type of a change of a message or a conversation.
public enum DeltaKind: String, Sendable, Hashable, CaseIterable {
    /// The words of the protocol; `trimmed` exists only in a client's list.
    public static let allCases: [DeltaKind] = [.inserted, .updated, .deleted]

    /// It is new here.
    case inserted
    /// It has another value.
    case updated
    /// It was deleted; of a message, a tombstone stays.
    case deleted
    /// It left the list, but the conversation still has it.
    case trimmed
}

/// One change of a message, with the whole message: `protocol.md` 5.
///
/// A plain value. The message of a deletion is always a tombstone, whatever it was made from.
public struct MessageDelta: Sendable, Hashable {
    /// How a change reached its sender.
    public enum Via: String, Sendable, Hashable, CaseIterable {
        /// It just happened.
        case live
        /// It was fetched to close a gap.
        case fill
        /// It was sent again, because a holder had missed it.
        case replay
        /// It was read from the cache.
        case cache
    }

    /// What happened.
    public let type: DeltaKind
    /// How it came, if that is known.
    public let via: Via?
    /// The message as it is after the change.
    public let message: Message
    /// The fields that this library does not know.
    public let unknown: [JSONMember]

    /// A change of a message.
    public init(
        type: DeltaKind, via: Via? = nil, message: Message, unknown: [JSONMember] = []
    ) {
        self.type = type
        self.via = via
        self.message = type == .deleted ? message.tombstone : message
        self.unknown = unknown
    }

    private static let record = "messageDelta"

    /// The delta in a JSON object.
    /// - Throws: `RecordError`, which names the field.
    public init(_ object: JSONObject) throws(RecordError) {
        var type: DeltaKind?
        var via: Via?
        var message: Message?
        var unknown: [JSONMember] = []
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "type": type = try field.word(DeltaKind.self)
            case "via": via = field.isNull ? nil : try field.word(Via.self)
            case "message": message = try field.nested(Message.init)
            default: unknown.append(member)
            }
        }
        guard let type else { throw .missing("type", of: Self.record) }
        guard let message else { throw .missing("message", of: Self.record) }
        self.init(type: type, via: via, message: message, unknown: unknown)
    }

    /// Writes the delta as one value.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", string: type.rawValue)
        if let via { writer.member("via", string: via.rawValue) }
        writer.key("message")
        message.write(to: &writer)
        for member in unknown { writer.member(member) }
        writer.endObject()
    }
}
