import Chat
import Engine
import WebSockets
import Wire

/// Moves bytes from the outboxes into sockets, closes and throttles them: those of the engine's
/// loop itself, the others by their worker loops. Lives on the engine's loop.
final class SocketOutput {
    /// The worker loops, if there are any.
    var sides: WorkerLoops?
    private let server: Server
    private let sockets: Sockets
    private var writes = Writes()
    private var buffer = SendBuffer()
    /// For blocked sockets: the bytes that their peers had acknowledged a second ago.
    private var acknowledged: [SessionID: UInt64] = [:]

    init(_ server: Server, _ sockets: Sockets) {
        self.server = server
        self.sockets = sockets
    }

    /// Writes the pending frames of the sessions.
    /// - Returns: how long that takes on all cores together.
    func write(_ sessions: consuming [Session]) -> Duration {
        let began = ContinuousClock.now
        // First, so that the other loops write in parallel.
        let elsewhere = sides?.write(sessions, WriteSlice.write) ?? .zero
        send(consume sessions)
        // Pacing counts the cost on all cores.
        return ContinuousClock.now - began + elsewhere
    }

    /// Writes pending frames of the sessions, as far as their sockets take them; sessions of other
    /// loops are skipped.
    private func send(_ sessions: consuming [Session]) {
        var writes = Writes()
        swap(&writes, &self.writes)
        defer { swap(&writes, &self.writes) }
        while !sessions.isEmpty {
            var unfinished: [Session] = []
            for session in sessions where sides?.serves(session.id) != true && session.isReady {
                writes.begin()
                let isMore = sockets.take(session, WriteSlice.write) { writes.append($0) }
                writes.end(for: SocketID(rawValue: session.id))
                if isMore { unfinished.append(session) }
            }
            // Released now, while they are in the core's cache.
            sessions = []
            for unsent in writes.send(by: server, &buffer) {
                sockets.blocked(writes.sockets[unsent.index].rawValue, unsent: unsent.bytes)
            }
            writes.removeAll()
            sessions = unfinished.filter { server.isOpen(SocketID(rawValue: $0.id)) }
        }
    }

    /// The session is this user's: its large input takes turns as theirs.
    func own(_ session: SessionID, by user: ID) {
        if let sides, sides.serves(session) { return sides.own(session, by: user) }
        server.own(SocketID(rawValue: session), by: user)
    }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        if let sides, sides.serves(session) { return sides.throttle(session, isThrottled) }
        server.throttle(SocketID(rawValue: session), isThrottled)
    }

    /// Closes the connection after all that was sent to it.
    func close(_ session: SessionID, _ code: CloseCode) {
        if let sides, sides.serves(session) { return sides.close(session, code) }
        server.close(SocketID(rawValue: session), code: code.rawValue, reason: code.reason)
    }

    /// The socket of this loop takes more.
    func writable(_ socket: SocketID, at now: Timestamp) {
        sockets.progressed(socket.rawValue, unsent: server.unsentBytes(socket), at: now)
    }

    /// A blocked socket is slow, not gone, as long as its peer acknowledges bytes: looks once a
    /// second.
    func noteProgress(at now: Timestamp) {
        let before = acknowledged
        acknowledged.removeAll(keepingCapacity: true)
        let blocked = sockets.blockedSessions()
        if let sides { sides.probe(blocked.filter(sides.serves)) }
        for session in blocked where sides?.serves(session) != true {
            let socket = SocketID(rawValue: session)
            let bytes = server.acknowledgedBytes(socket)
            acknowledged[session] = bytes
            if let earlier = before[session], bytes > earlier { writable(socket, at: now) }
        }
    }
}
