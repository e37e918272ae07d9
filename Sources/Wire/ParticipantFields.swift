import JSON

/// The fields with which the server API adds a participant to a conversation: the path has the
/// user, the body the rest of the object of `protocol.md` 6.
package struct ParticipantFields: Sendable, Hashable {
    package var name: String?
    package var metadata: RawJSON?
    /// Fields that the gateway does not know, passed on unchanged.
    package var unknown: [JSONMember]

    package init(name: String? = nil, metadata: RawJSON? = nil, unknown: [JSONMember] = []) {
        self.name = name
        self.metadata = metadata
        self.unknown = unknown
    }

    static let known: Set<String> = [
        "id", "user", "name", "lastReadSeq", "createdAt", "updatedAt", "metadata",
        "joinedSeq",
    ]

    /// The fields in a body of the server API.
    /// - Throws: `bad_request`, naming the field after `prefix`.
    package static func decode(
        _ object: JSONObject, prefix: String
    ) throws(RequestError) -> ParticipantFields {
        let fields = Fields(object, prefix: prefix)
        return ParticipantFields(
            name: try fields.stringOrNull("name") ?? nil,
            metadata: try fields.objectText("metadata"),
            unknown: try fields.unknown(except: known).members)
    }
}
