/// Why the gateway closes a connection: the table of `protocol.md` 2, used by the server, the
/// clients and the metrics. Codes 3000–3499 allow a reconnect, 3500–3999 do not.
public enum CloseCode: UInt16, Sendable, Hashable, CaseIterable {
    case protocolError = 1002
    case invalidUTF8 = 1007
    case frameTooLarge = 1009
    case draining = 3000
    case tokenExpired = 3001
    case outboxOverflow = 3002
    case noPong = 3003
    case connectionLimit = 3004
    case tokenRefused = 3500
    case protocolViolation = 3501
    case disconnected = 3502

    /// The reason in the close frame, at most 123 bytes.
    public var reason: String {
        switch self {
        case .protocolError: "broken frame"
        case .invalidUTF8: "invalid UTF-8"
        case .frameTooLarge: "frame too large"
        case .draining: "draining"
        case .tokenExpired: "token expired"
        case .outboxOverflow: "outbox over its hard limit"
        case .noPong: "no pong in time"
        case .connectionLimit: "connection limit reached"
        case .tokenRefused: "token refused"
        case .protocolViolation: "protocol violation"
        case .disconnected: "disconnected by the server"
        }
    }

    /// Whether a client that was closed with this code may reconnect.
    public var mayComeBack: Bool { rawValue < 3500 }
}
