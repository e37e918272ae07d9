import Wire

/// Why a request of a client has no result.
public enum ClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The connection broke, or there was none. Whether the gateway carried the request out is not
    /// known; what is asked for again is safe, and so is a message that is sent again by its id.
    case disconnected
    /// The client was closed, or the gateway refused it for good: see `ConnectionState.closed`.
    case closed
    /// The gateway answered with an error.
    case refused(RequestError)
    /// The draft was given up before it arrived.
    case discarded
    /// The gateway's answer is none of this protocol: which field, and what is accepted.
    case unreadable(String)

    /// What went wrong, for a person.
    public var description: String {
        switch self {
        case .disconnected: "there is no connection to the gateway; it may be tried again later"
        case .closed: "the client was closed, or the gateway refused it for good"
        case .refused(let error):
            "the gateway refused this (\(error.code.rawValue)): \(error.message)"
        case .discarded: "the message was given up before it arrived"
        case .unreadable(let why): "the gateway's answer can't be read: \(why)"
        }
    }

    /// Whether the same request may succeed later.
    public var mayRetry: Bool {
        switch self {
        case .disconnected: true
        case .refused(let error): error.retry != .never
        case .closed, .discarded, .unreadable: false
        }
    }
}
