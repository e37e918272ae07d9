import Glibc

/// Checks, without listening, whether a server could listen.
package enum ListenerCheck {
    /// The result of the check.
    package enum Outcome: Sendable, Equatable {
        case sound
        /// Another process listens there, perhaps the one that will be replaced.
        case taken(String)
        case broken(String)
    }

    /// Reads the certificate, and binds briefly to the address.
    package static func check(_ listener: Listener) -> Outcome {
        do throws(WebSocketError) {
            if let tls = listener.tls { _ = try Certificate(tls) }
            try Acceptor.tryToBind(listener)
            return .sound
        } catch {
            return error.isTaken ? .taken("\(error)") : .broken("\(error)")
        }
    }
}
