/// The id of a conversation, a message or a user as a key: equal where the bytes are equal.
///
/// Swift's strings are equal where they look alike ("é" in one scalar and in two), the protocol's
/// ids and the store's are not. Whatever decides by an id, above all who takes part, compares by
/// this.
package struct ID: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (a: ID, b: ID) -> Bool {
        a.text.utf8.elementsEqual(b.text.utf8)
    }

    /// Equal bytes look alike, so the string's own hash serves.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    /// The string as a key.
    package var id: ID { ID(self) }

    /// Whether both are the same id, byte by byte. Swift holds two strings for equal that only look
    /// the same; the store, and whoever signs tokens, takes them for two users.
    package func isSameID(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
