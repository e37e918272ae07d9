import JSON
import Wire

/// The application's description of a conversation or participant: the part of a record that may
/// hold any text.
package struct Description: Sendable, Hashable {
    /// What is described.
    package enum Kind: String, Sendable { case conversation, participant }

    package var kind: Kind
    /// The title of a conversation, the name of a participant.
    package var title: String?
    /// For a participant, nil and `{}` differ; a conversation always has metadata.
    package var metadata: RawJSON?
    package var unknownFields: UnknownFields

    package init(
        _ kind: Kind, title: String?, metadata: RawJSON?, unknown: [JSONMember]
    ) {
        self.kind = kind
        self.title = title
        self.metadata = metadata
        unknownFields = UnknownFields(unknown)
    }

    /// The unknown fields, built.
    package var unknown: [JSONMember] { unknownFields.members }

    /// The description of a new conversation.
    /// - Parameter isPut: whether a field that is `null` is left out; for a client it is a value.
    package init(_ fields: ConversationFields, isPut: Bool) {
        self.init(
            .conversation, title: fields.title ?? nil, metadata: fields.metadata ?? .emptyObject,
            unknown: [])
        unknownFields =
            isPut ? UnknownFields([]).merged(with: fields.unknownFields) : fields.unknownFields
    }

    /// The bytes that `limits.record` bounds.
    var stored: Int {
        (title?.utf8.count ?? 0) + (metadata?.stored ?? 0) + unknownFields.size
    }

    /// The description after a change; nil if nothing changes.
    /// - Parameters:
    ///   - title: nil leaves it as it is, `.some(nil)` takes it away.
    ///   - metadata: nil leaves it as it is.
    ///   - unknown: merged into what is there, `null` removes.
    package func changed(
        title: String??, metadata: RawJSON?, unknown: UnknownFields
    ) -> Description? {
        var after = self
        if let title { after.title = title }
        if let metadata { after.metadata = metadata }
        after.unknownFields = unknownFields.merged(with: unknown)
        return after.isSame(as: self) ? nil : after
    }

    /// The same description for something new.
    /// - Throws: `too_large` if it is above a limit.
    package func new(within limits: LogLimits) throws(RequestError) -> Description {
        try limits.check(self, insteadOf: nil)
        var held = self
        held.unknownFields = unknownFields.built
        return held
    }

    private func isSame(as other: Description) -> Bool {
        unknownFields.count == other.unknownFields.count
            && title.map { Array($0.utf8) } == other.title.map { Array($0.utf8) }
            && metadata?.canonical() == other.metadata?.canonical()
            && unknown.isSame(as: other.unknown)
    }
}

extension Description.Kind {
    /// The parts that `limits.record` counts, as errors name them.
    var parts: String {
        switch self {
        case .conversation: "title, metadata and unknown fields"
        case .participant: "name, metadata and unknown fields"
        }
    }
}
