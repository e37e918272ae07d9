import Chat
import Wire

/// Delivery as the shell and the rest of the engine see it; `Delivery` decides, and the engine
/// closes whom it says.
extension Engine {
    /// Sessions with more in their outboxes than the soft limit, whose sockets have not been tried
    /// in this turn: they must be flushed.
    package func takeSessionsToFlush() -> [Session] { fanout.delivery.takeToFlush() }

    /// Sessions whose sockets did not take all that they were given.
    package func blockedSessions() -> [SessionID] {
        sessions.values.filter(\.lane.isBlocked).map(\.id)
    }

    /// Whether the session's socket did not take all that it was given.
    package func isBlocked(_ id: SessionID) -> Bool { sessions[id]?.lane.isBlocked ?? false }

    /// Hands the session's oldest frames to `write`, about `limit` bytes, as one write of its
    /// socket.
    /// - Returns: whether more is queued.
    package func take(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        fanout.delivery.take(session, limit, at: now, write)
    }

    /// The same of the session with this number; false if there is none.
    package func take(_ id: SessionID, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        sessions[id].map { take($0, limit, write) } ?? false
    }

    /// The socket did not take all that it was given: `unsent` bytes wait in the library.
    package func blocked(_ id: SessionID, unsent: Int) {
        guard let session = sessions[id] else { return }
        if fanout.delivery.blocked(session, unsent: unsent, at: now) {
            connections.close(session, .outboxOverflow)
        }
    }

    /// The socket took bytes that had waited in the library; `unsent` are left.
    package func progressed(_ id: SessionID, unsent: Int, at now: Timestamp) {
        guard let session = sessions[id] else { return }
        self.now = now
        session.lastProgress = now
        fanout.delivery.progressed(session, unsent: unsent)
    }
}
