import Glibc

/// What would stop a server from listening, found out without listening.
package enum ListenerCheck {
    /// What became of it.
    package enum Outcome: Sendable, Equatable {
        case sound
        /// Another process listens there, which may be the one that is to be replaced.
        case taken(String)
        case broken(String)
    }

    /// Reads the certificate, and binds to the address for a moment.
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
