/// Why a connection to Redis is not there or not of use. Made where the connection is made or
/// breaks, and shown in the log and in health; the message names what was done, to which address,
/// and what was seen, and never carries a password or anything that a user wrote.
package struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong, as far as somebody can act on it.
    package enum Code: String, Sendable, Hashable {
        /// The URL is none that is accepted.
        case url
        /// Nobody answers at the address.
        case unreachable
        /// What was asked for did not come in time.
        case deadline
        /// The connection was closed or broke.
        case broken
        /// There is no TLS with the server: its certificate, ours, or no TLS at all.
        case tls
        /// The server refuses the user or the password, or there is none to be read.
        case credentials
        /// The server is older than what is needed.
        case tooOld
        /// The server is a replica, or no majority names it master.
        case notMaster
        /// The server refuses for now: it loads, or another script is busy.
        case busy
        /// The bytes are not those of Redis's protocol.
        case malformed
        /// Anything else that the server refuses.
        case refused
    }

    package let code: Code
    /// `<doing what> <on what>: <what was seen> (<limit or code>)`
    package let description: String

    init(_ code: Code, doing: String, on address: String, seen: String, detail: String) {
        self.init(code, "\(doing) \(address): \(seen) (\(detail))")
    }

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

/// A line for the log of whoever runs the gateway.
package struct RedisNotice: Sendable, Hashable {
    package enum Level: Sendable, Hashable { case info, warning, error }

    package let level: Level
    package let text: String

    init(_ level: Level, _ text: String) {
        self.level = level
        self.text = text
    }
}
