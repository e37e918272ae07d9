/// Why a text is not valid JSON of the requested kind.
public struct JSONError: Error, Hashable, Sendable {
    /// The byte offset at which reading stopped.
    public var offset: Int
    /// The fault as a phrase, without the text itself, which may be a user's.
    public var reason: String

    /// An error at a byte offset.
    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }
}
