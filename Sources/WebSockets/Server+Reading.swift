import Ports
import Wire

/// Turns among those who send much: `ReadTurn` decides, and a job of the next turn goes on.
extension Server {
    /// The connection is this user's. From now on its large reads take turns as theirs.
    package func own(_ socket: SocketID, by user: ID) {
        loop.preconditionOnLoop()
        connections[socket]?.user = user
    }

    /// Whether to process so many bytes of the connection's input now; if not, it is not read until
    /// its turn comes.
    func admits(_ count: Int, of connection: PeerConnection) -> Bool {
        guard !turn.reading.admits(count) else { return true }
        connection.wait(true)
        if turn.reading.wait(connection.id, count, for: connection.payer) { postReadingOn() }
        return false
    }

    private func postReadingOn() {
        loop.post { [weak self] in self?.readOn() }
    }

    private func readOn() {
        turn.reading.beginRelease()
        while let id = turn.reading.takeNext(where: { connections[$0] != nil }) {
            connections[id]?.wait(false)
        }
        if turn.reading.endRelease() { postReadingOn() }
    }
}

extension PeerConnection {
    /// Whose share its large reads take.
    ///
    /// A user has one share, with all connections. Bodies of requests have one: they are read for
    /// the holders of a key only, which is the backend. And all who have not said who they are have
    /// one together, in which their addresses take turns. A share for each connection, or for each
    /// address, would be for the taking: one host can have as many addresses as it likes. What an
    /// honest stranger sends, a handshake and a `connect`, is small and waits for nobody, unless
    /// the token is very long; and a proxy's one address has a share like any other.
    var payer: Payer {
        if let user { return Payer(user: user, session: id.rawValue) }
        guard phase != .body else {
            return Payer(user: Payer.gateway.user, session: id.rawValue)
        }
        let address = UInt64(truncatingIfNeeded: remoteAddress.hashValue)
        return Payer(user: Self.strangers, session: address)
    }

    /// No user's id holds a control character.
    private static let strangers = "\u{0}".id
}
