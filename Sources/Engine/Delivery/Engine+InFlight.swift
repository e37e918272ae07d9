import Wire

/// Sockets that are served by another loop than the engine's. What a session is given is in flight
/// until that loop has tried its socket: till then these are in-flight bytes, and it is given no
/// more. So nobody has more in flight than one write, and what comes in meanwhile is written
/// together, as it is where the engine itself waits for a socket.
///
/// Not to have heard yet of a socket is no sign of a slow reader: a session in flight is not shed
/// at the soft limit. Its requests wait there, though, and the hard limit is everybody's.
extension Engine {
    /// As `take`, for a socket of another loop; `landed` tells what became of it.
    package func handOver(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) {
        fanout.delivery.handOver(session, limit, at: now, write)
    }

    /// Hands over all that a session is owed that is to be closed while its last write is on its
    /// way; of others the outbox is empty, or stays where it is.
    /// - Returns: the session, nil if nothing was handed over.
    package func handOverRest(_ id: SessionID, _ write: (Frame) -> Void) -> Session? {
        guard let session = sessions[id], session.lane.isInFlight, !session.lane.isBlocked,
            !session.lane.outbox.isEmpty
        else { return nil }
        handOver(session, .max, write)
        return session
    }

    /// The other loop has given the session's bytes to its socket, which did not take `unsent` of
    /// them.
    package func landed(_ session: Session, unsent: Int) {
        if fanout.delivery.landed(session, unsent: unsent, at: now) {
            connections.close(session, .outboxOverflow)
        }
    }
}
