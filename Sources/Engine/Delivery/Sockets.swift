import Chat
import Wire

/// What the shell asks of delivery, and what it tells of sockets: `Delivery` decides, and whom it
/// gives up is closed.
///
/// A socket may be served by another loop than the engine's. What its session is given is in flight
/// until that loop has tried the socket: till then these are in-flight bytes, and it is given no
/// more. So nobody has more in flight than one write, and what comes in meanwhile is written
/// together, as it is where the engine itself waits for a socket. Not to have heard yet of a socket
/// is no sign of a slow reader: a session in flight is not shed at the soft limit. Its requests
/// wait there, though, and the hard limit is everybody's.
package final class Sockets {
    private let connections: Connections
    private let fanout: Fanout

    init(_ connections: Connections) {
        self.connections = connections
        fanout = connections.fanout
    }

    private var now: Timestamp { fanout.clock.now }

    // MARK: - What is written

    /// Sessions with more in their outboxes than the soft limit, whose sockets have not been tried
    /// in this turn: they must be flushed.
    package func takeSessionsToFlush() -> [Session] { fanout.delivery.takeToFlush() }

    /// Hands the session's oldest frames to `write`, about `limit` bytes, as one write of its
    /// socket.
    /// - Returns: whether more is queued.
    package func take(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        fanout.delivery.take(session, limit, at: now, write)
    }

    /// The same of the session with this number; false if there is none.
    package func take(_ id: SessionID, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        connections[id].map { take($0, limit, write) } ?? false
    }

    /// As `take`, for a socket of another loop; `landed` tells what became of it.
    package func handOver(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) {
        fanout.delivery.handOver(session, limit, at: now, write)
    }

    /// Hands over all that a session is owed that is to be closed while its last write is on its
    /// way; of others the outbox is empty, or stays where it is.
    /// - Returns: the session, nil if nothing was handed over.
    package func handOverRest(_ id: SessionID, _ write: (Frame) -> Void) -> Session? {
        guard let session = connections[id], session.lane.isInFlight, !session.lane.isBlocked,
            !session.lane.outbox.isEmpty
        else { return nil }
        handOver(session, .max, write)
        return session
    }

    // MARK: - What became of it

    /// Sessions whose sockets did not take all that they were given.
    package func blockedSessions() -> [SessionID] {
        connections.registry.values.filter(\.lane.isBlocked).map(\.id)
    }

    /// Whether the session's socket did not take all that it was given.
    package func isBlocked(_ id: SessionID) -> Bool { connections[id]?.lane.isBlocked ?? false }

    /// The socket did not take all that it was given: `unsent` bytes wait in the library.
    package func blocked(_ id: SessionID, unsent: Int) {
        guard let session = connections[id] else { return }
        if fanout.delivery.blocked(session, unsent: unsent, at: now) {
            connections.close(session, .outboxOverflow)
        }
    }

    /// The socket took bytes that had waited in the library; `unsent` are left.
    package func progressed(_ id: SessionID, unsent: Int, at now: Timestamp) {
        guard let session = connections[id] else { return }
        fanout.clock.now = now
        session.liveness.progressed(at: now)
        fanout.delivery.progressed(session, unsent: unsent)
    }

    /// The other loop has given the session's bytes to its socket, which did not take `unsent` of
    /// them.
    package func landed(_ session: Session, unsent: Int) {
        if fanout.delivery.landed(session, unsent: unsent, at: now) {
            connections.close(session, .outboxOverflow)
        }
    }
}
