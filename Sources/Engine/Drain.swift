import Chat
import Wire

/// Sending every client away, each at a moment of its own: `goaway` tells all of them at once when
/// to come back, and each connection is closed in its slot.
struct Drain {
    /// Who is still to be closed, the last slot first.
    var slots: [(at: Timestamp, session: SessionID)]
    let deadline: Timestamp
}

extension Engine {
    /// Begins the drain. New connections are refused from now on.
    /// - Parameters:
    ///   - window: milliseconds over which the clients' slots are spread.
    ///   - deadline: milliseconds after which whoever is left is closed.
    package func beginDrain(window: Int64, deadline: Int64, at now: Timestamp) {
        guard drain == nil else { return }
        self.now = now
        let leaving = sessions.values.filter { !$0.isClosing }.sorted { $0.id < $1.id }
        var slots: [(at: Timestamp, session: SessionID)] = []
        for (index, session) in leaving.enumerated() {
            let slot = window * Int64(index) / Int64(max(1, leaving.count))
            push(session, ServerFrame.goaway(reconnectIn: Int(slot), reason: "draining"))
            slots.append((now.adding(slot), session.id))
        }
        drain = Drain(slots: slots.reversed(), deadline: now.adding(deadline))
    }

    package var isDraining: Bool { drain != nil }

    /// Whether every client was told, sent what it is owed, and closed, or the deadline is over.
    package var isDrained: Bool {
        guard let drain else { return false }
        return sessions.isEmpty || now >= drain.deadline
    }

    func advanceDrain() {
        guard drain != nil else { return }
        while let slot = drain?.slots.last, slot.at <= now {
            drain?.slots.removeLast()
            if let session = sessions[slot.session] { close(session, .draining) }
        }
    }
}
