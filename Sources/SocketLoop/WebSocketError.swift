/// Why the loop or a listener could not be set up. Thrown before anything is served; a later fault
/// concerns one connection and ends with that connection.
package struct WebSocketError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The event loop or the libwebsockets context could not be created.
        case loop
        /// A listener's address is not an IPv4 or IPv6 literal.
        case address
        /// The system refused the listening socket: the port is taken, or not permitted.
        case listen
        /// A certificate or key is missing, unreadable, or they don't belong together.
        case certificate
    }

    package var code: Code
    /// "<doing what> <on what>: <what was seen> (<limit or code>)".
    package var description: String
    /// Whether another process listens at the same place.
    package var isTaken = false

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
