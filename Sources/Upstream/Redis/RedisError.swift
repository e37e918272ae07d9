import Ports

/// Why a connection to Redis is missing or can't be used. Made where the connection is made or
/// breaks, and shown in the log and in health; the message names the action, the address and what
/// was seen, and never holds a password or anything that a user wrote.
package struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error, as far as an operator can act on it.
    package enum Code: String, Sendable, Hashable {
        /// The URL is not accepted.
        case url
        /// Nobody answers at the address.
        case unreachable
        /// A reply did not come within the deadline.
        case deadline
        /// The connection was closed or broke.
        case broken
        /// TLS failed: the server's certificate, ours, or a server without TLS.
        case tls
        /// The server refuses the user or the password, or its file can't be read.
        case credentials
        /// The server is too old.
        case tooOld
        /// The server is a replica, or no majority names it master.
        case notMaster
        /// The server refuses for now: it is loading, or a script is running.
        case busy
        /// The bytes are not those of Redis's protocol.
        case malformed
        /// Anything else that the server refuses.
        case refused
    }

    package let code: Code
    /// What the operator is told, with what to do about it.
    let event: LogEvent
    /// `<doing what> <on what>: <what was seen> (<limit or code>)`
    package let description: String

    init(_ code: Code, doing: String, on address: String, seen: String, detail: String) {
        self.init(code, "\(doing) \(address): \(seen) (\(detail))")
    }

    package init(_ code: Code, _ description: String) {
        self.init(code, code.event, description)
    }

    init(_ code: Code, _ event: LogEvent, _ description: String) {
        self.code = code
        self.event = event
        self.description = description
    }
}

extension RedisError.Code {
    /// What it is where the server said nothing else.
    fileprivate var event: LogEvent {
        switch self {
        case .url, .unreachable, .deadline, .broken, .malformed: .originUnreachable
        case .tls: .originTLSFailed
        case .credentials: .originPasswordRefused
        case .tooOld: .originTooOld
        case .notMaster: .originIsReplica
        case .busy: .originBusy
        case .refused: .originRefuses
        }
    }
}

extension UpstreamNotice {
    init(_ error: RedisError) { self.init(error.event, error.description) }
}
