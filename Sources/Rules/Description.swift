import JSON
import Wire

/// What an application says of a conversation or of a participant: the part of a record that any
/// text may go into.
package struct Description: Sendable, Hashable {
    /// What is described.
    package enum Kind: String, Sendable { case conversation, participant }

    package var kind: Kind
    /// The title of a conversation, the name of a participant.
    package var title: String?
    /// nil and `{}` are two values of a participant; a conversation always has some.
    package var metadata: RawJSON?
    package var unknown: [JSONMember]

    package init(
        _ kind: Kind, title: String?, metadata: RawJSON?, unknown: [JSONMember]
    ) {
        self.kind = kind
        self.title = title
        self.metadata = metadata
        self.unknown = unknown
    }

    /// What a client says of a new conversation.
    package init(_ fields: ConversationFields) {
        self.init(
            .conversation, title: fields.title ?? nil, metadata: fields.metadata ?? .emptyObject,
            unknown: fields.unknown)
    }

    /// What the server API says of a new conversation: a field given as `null` is none.
    package init(put fields: ConversationFields) {
        self.init(fields)
        unknown = [].merged(with: fields.unknown)
    }

    /// The bytes by which `limits.record` goes.
    var stored: Int {
        (title?.utf8.count ?? 0) + (metadata?.stored ?? 0) + unknown.size
    }

    /// What a change makes of it; nil where that says the same.
    /// - Parameters:
    ///   - title: nil leaves it as it is, `.some(nil)` takes it away.
    ///   - metadata: nil leaves it as it is.
    ///   - unknown: merged into what is there, `null` removes.
    package func changed(
        title: String??, metadata: RawJSON?, unknown: [JSONMember]
    ) -> Description? {
        var after = self
        if let title { after.title = title }
        if let metadata { after.metadata = metadata }
        after.unknown = after.unknown.merged(with: unknown)
        return after.isSame(as: self) ? nil : after
    }

    /// The same as the first that is said of something new.
    /// - Throws: `too_large`, if it passes a limit.
    package func new(within limits: LogLimits) throws(RequestError) -> Description {
        try limits.check(self, insteadOf: nil)
        return self
    }

    private func isSame(as other: Description) -> Bool {
        title.map { Array($0.utf8) } == other.title.map { Array($0.utf8) }
            && metadata?.canonical() == other.metadata?.canonical()
            && unknown.isSame(as: other.unknown)
    }
}

extension Description.Kind {
    /// What `limits.record` counts, as an error names it.
    var parts: String {
        switch self {
        case .conversation: "title, metadata and unknown fields"
        case .participant: "name, metadata and unknown fields"
        }
    }
}
