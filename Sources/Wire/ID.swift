import JSON

/// The id of a conversation, a message or a user as a key: equal if the bytes are equal.
///
/// Swift's strings are equal if they look alike ("é" in one scalar and in two); the protocol's ids
/// and the store's are not. Every decision by an id, above all about membership, compares this
/// type.
@usableFromInline package struct ID: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    @usableFromInline package static func == (a: ID, b: ID) -> Bool {
        a.text.hasSameBytes(as: b.text)
    }

    /// By the bytes: all strings that look alike share one hash, and a list of such ids would be
    /// compared each with each.
    @usableFromInline package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String {
    /// The string as a key.
    package var id: ID { ID(self) }

    /// Whether both are the same id, byte by byte. Swift treats strings that only look the same as
    /// equal; the store, and an issuer of tokens, treat them as two users.
    package func isSameID(_ other: String) -> Bool { hasSameBytes(as: other) }
}
