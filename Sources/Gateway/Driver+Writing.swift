import Engine
import WebSockets

/// How bytes get from the outboxes into the sockets of the driver's own loop.
extension Driver {
    /// Writes what the sessions are owed, as far as their sockets take it; those of other loops are
    /// left alone.
    func send(_ sessions: consuming [Session]) {
        var writes = Writes()
        swap(&writes, &self.writes)
        defer { swap(&writes, &self.writes) }
        while !sessions.isEmpty {
            var unfinished: [Session] = []
            for session in sessions where sides?.serves(session.id) != true && session.isReady {
                writes.begin()
                let isMore = engine.sockets.take(session, Self.writeSize) { writes.append($0) }
                writes.end(for: SocketID(rawValue: session.id))
                if isMore { unfinished.append(session) }
            }
            // Let go while they are at hand.
            sessions = []
            for unsent in writes.send(by: server, &buffer) {
                engine.sockets.blocked(writes.sockets[unsent.index].rawValue, unsent: unsent.bytes)
            }
            writes.removeAll()
            sessions = unfinished.filter { server.isOpen(SocketID(rawValue: $0.id)) }
        }
    }
}
