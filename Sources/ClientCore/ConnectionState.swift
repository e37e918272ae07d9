import Chat
import Wire

/// Who connects.
public enum Credentials: Sendable, Hashable {
    /// A name, of a gateway in open mode.
    case user(String)
    /// A token. It is replaced in time if its end is given here; otherwise when the gateway says
    /// that it ran out.
    case token(String, expiresAt: Timestamp? = nil)
}

/// Where a client's connection stands.
public enum ConnectionState: Sendable, Hashable {
    /// Not opened yet.
    case idle
    /// On its way.
    case connecting
    /// Requests can be made, and events come.
    case live
    /// Lost; it tries again by itself in so many milliseconds. The code is the gateway's, where it
    /// gave one.
    case waiting(milliseconds: Int, code: UInt16?)
    /// Over: closed by its owner, or refused by the gateway for good (codes 3500 to 3999).
    case closed(code: UInt16?)

    /// Whether requests can be made.
    public var isLive: Bool { self == .live }
}
