import Engine
import WebSockets

/// Moves bytes from the outboxes into the sockets of the driver's own loop.
extension Driver {
    /// Writes pending frames of the sessions, as far as their sockets take them; sessions of other
    /// loops are skipped.
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
            // Released now, while they are in the core's cache.
            sessions = []
            for unsent in writes.send(by: server, &buffer) {
                engine.sockets.blocked(writes.sockets[unsent.index].rawValue, unsent: unsent.bytes)
            }
            writes.removeAll()
            sessions = unfinished.filter { server.isOpen(SocketID(rawValue: $0.id)) }
        }
    }
}
