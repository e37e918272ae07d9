import Chat
import Wire

/// The shell's interface to delivery, and its reports about sockets. `Delivery` decides; this class
/// closes the sessions that it gives up.
///
/// A socket may belong to another loop than the engine's. What was handed to that loop is in flight
/// (in-flight bytes) until it has tried the socket, and until then the session is handed nothing
/// more. So each session has at most one write in flight, and what comes meanwhile is written
/// together, as on the engine's own loop. A session in flight is not shed at the soft limit,
/// because its result is not known yet and it need not be slow. But its requests wait at the soft
/// limit, and the hard limit applies to it as well.
package final class Sockets {
    private let connections: Connections
    private let fanout: Fanout

    init(_ connections: Connections) {
        self.connections = connections
        fanout = connections.fanout
    }

    private var now: Timestamp { fanout.clock.now }

    // MARK: - Writing

    /// A read is about to be answered.
    package func beginAnswer() { fanout.delivery.beginAnswer() }

    /// The sessions to flush after a read, which are above the soft limit by its answer.
    package func takeSessionsToFlush() -> [Session] { fanout.delivery.takeToFlush() }

    /// Passes the session's oldest frames to `write`, about `limit` bytes, as one write of its
    /// socket. A session has one write a turn, so that in a turn nobody waits for all that others
    /// are sent. More are only for what may not wait: it is to be closed, or near its hard limit.
    /// - Returns: whether it needs another write in this turn.
    package func take(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        guard fanout.delivery.take(session, limit, at: now, write) else { return false }
        if session.isClosing || fanout.delivery.isUrgent(session) { return true }
        fanout.delivery.leave(session)
        return false
    }

    /// As `take`, by session id; false if there is no such session.
    package func take(_ id: SessionID, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        connections[id].map { take($0, limit, write) } ?? false
    }

    /// As `take`, for a socket of another loop, which reports the result by `landed`.
    package func handOver(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) {
        fanout.delivery.handOver(session, limit, at: now, write)
    }

    /// Hands over all pending frames of a session that is to be closed while its last write is in
    /// flight. In other cases the outbox is empty, or stays as it is.
    /// - Returns: the session, nil if nothing was handed over.
    package func handOverRest(_ id: SessionID, _ write: (Frame) -> Void) -> Session? {
        guard let session = connections[id], session.lane.isInFlight, !session.lane.isBlocked,
            !session.lane.outbox.isEmpty
        else { return nil }
        handOver(session, .max, write)
        return session
    }

    // MARK: - Reports of sockets

    /// Sessions whose sockets did not take everything.
    package func blockedSessions() -> [SessionID] {
        connections.registry.values.filter(\.lane.isBlocked).map(\.id)
    }

    /// Whether the session's socket did not take everything.
    package func isBlocked(_ id: SessionID) -> Bool { connections[id]?.lane.isBlocked ?? false }

    /// The socket did not take everything: `unsent` bytes wait in the library.
    package func blocked(_ id: SessionID, unsent: Int) {
        guard let session = connections[id] else { return }
        if fanout.delivery.blocked(session, unsent: unsent, at: now) {
            connections.close(session, .outboxOverflow)
        }
    }

    /// The socket took bytes that had waited in the library; `unsent` are still waiting.
    package func progressed(_ id: SessionID, unsent: Int, at now: Timestamp) {
        guard let session = connections[id] else { return }
        fanout.clock.now = now
        session.liveness.progressed(at: now)
        fanout.delivery.progressed(session, unsent: unsent)
    }

    /// The other loop wrote the session's bytes to its socket, which did not take `unsent` of them.
    package func landed(_ session: Session, unsent: Int) {
        if fanout.delivery.landed(session, unsent: unsent, at: now) {
            connections.close(session, .outboxOverflow)
        }
    }
}
