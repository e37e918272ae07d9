/// Why a text is not the JSON that was asked for.
public struct JSONError: Error, Hashable, Sendable {
    /// The byte at which reading stopped, from 0.
    public var offset: Int
    /// What was wrong there, as a phrase without the text itself: it may be a user's.
    public var reason: String

    /// An error at a byte.
    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }
}
