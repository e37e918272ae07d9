import Wire

/// Why a request of a client has no result.
public enum ClientError: Error, Sendable, Hashable {
    /// The connection broke, or there was none. Whether the gateway carried the request out is not
    /// known; what is asked for again is safe, and so is a message that is sent again by its id.
    case disconnected
    /// The client was closed, or the gateway refused it for good: see `ConnectionState.closed`.
    case closed
    /// The gateway answered with an error.
    case refused(RequestError)
    /// The gateway's answer is none of this protocol: which field, and what is accepted.
    case unreadable(String)

    /// Whether the same request may succeed later.
    public var mayRetry: Bool {
        switch self {
        case .disconnected: true
        case .refused(let error): error.retry != .never
        case .closed, .unreadable: false
        }
    }
}
