import JSON

/// A participant of a conversation, as in `protocol.md` 6.
///
/// A plain value; fields that this library does not know are kept and encoded again.
public struct Participant: Sendable, Hashable, Identifiable {
    /// The user's id.
    public var id: String
    /// The name to show, if the origin gives one.
    public var name: String?
    /// The seq up to which the user has read; 0 for nothing, nil if unknown.
    public var lastReadSeq: Int?
    /// The head's seq when the user joined; 0 if an earlier version let them join, nil if unknown.
    public var joinedSeq: Int?
    /// When the user joined.
    public var createdAt: Timestamp?
    /// When this record last changed.
    public var updatedAt: Timestamp?
    /// The application's own object; `{}` if there is none.
    public var metadata: RawJSON
    /// The fields that this library does not know.
    public var unknown: [JSONMember]

    /// A participant.
    public init(
        id: String, name: String? = nil, lastReadSeq: Int? = nil, joinedSeq: Int? = nil,
        createdAt: Timestamp? = nil, updatedAt: Timestamp? = nil,
        metadata: RawJSON = .emptyObject, unknown: [JSONMember] = []
    ) {
        self.id = id
        self.name = name
        self.lastReadSeq = lastReadSeq
        self.joinedSeq = joinedSeq
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.metadata = metadata
        self.unknown = unknown
    }
}

extension Participant {
    private static let record = "participant"

    /// The participant in a JSON text.
    /// - Throws: `RecordError`, which names the field; the caller can only drop the text.
    public init(_ text: [UInt8]) throws(RecordError) {
        try self.init(JSONObject(text, record: Self.record))
    }

    /// The participant in a JSON object; only `id` is required.
    /// - Throws: `RecordError`, which names the field; the caller can only drop the object.
    public init(_ object: JSONObject) throws(RecordError) {
        var id: String?
        var read = Participant(id: "")
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "id": id = try field.id()
            case "name": read.name = field.isNull ? nil : try field.string()
            case "lastReadSeq": read.lastReadSeq = field.isNull ? nil : try field.integer(from: 0)
            case "joinedSeq":
                // Any other value is one that an earlier version stored.
                read.joinedSeq = member.value.int.flatMap { $0 >= 0 ? $0 : nil }
                if read.joinedSeq == nil { read.unknown.append(member) }
            case "createdAt": read.createdAt = field.isNull ? nil : try field.moment()
            case "updatedAt": read.updatedAt = field.isNull ? nil : try field.moment()
            case "metadata":
                read.metadata = field.isNull ? .emptyObject : try field.objectText()
            default: read.unknown.append(member)
            }
        }
        guard let id else { throw .missing("id", of: Self.record) }
        read.id = id
        self = read
    }

    /// The participant as a JSON text.
    public var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// Writes the participant as one value; omits optional fields that are nil.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", string: id)
        if let name { writer.member("name", string: name) }
        if let lastReadSeq { writer.member("lastReadSeq", int: lastReadSeq) }
        if let joinedSeq { writer.member("joinedSeq", int: joinedSeq) }
        if let createdAt { writer.member("createdAt", moment: createdAt) }
        if let updatedAt { writer.member("updatedAt", moment: updatedAt) }
        writer.member("metadata", raw: metadata)
        for member in unknown where joinedSeq == nil || member.key != "joinedSeq" {
            writer.member(member)
        }
        writer.endObject()
    }
}
