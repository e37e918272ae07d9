import Chat
import Wire

/// Sending every client away, each at a moment of its own: `goaway` tells all of them at once when
/// to come back, and each connection is closed in its turn.
struct Drain {
    /// Who is still to be closed, the last one first.
    var closes: [(at: Timestamp, session: SessionID)]
    let deadline: Timestamp
    /// When the last client comes back.
    let lastReturn: Timestamp
}

/// Whether the process that follows can serve while this one drains.
package enum Succession: Sendable {
    /// It can: each client is closed in the slot in which it comes back, and is never away.
    case beside
    /// It can't open the file before this process has ended: all clients are sent away soon, and
    /// their slots begin when the next process is there.
    case after

    /// Of the window of the slots, the part in which the connections are closed, one by one.
    static let closing: Int64 = 10
    /// Of the window, the part after which this process ends, whoever has not taken all by then.
    static let parting: Int64 = 5
    /// What the next process takes until it serves, in milliseconds. It opens a file and a port,
    /// some 100 ms; a service manager takes as long to start it.
    static let arrival: Int64 = 1000
}

extension Engine {
    /// Begins the drain. New connections are refused from now on.
    /// - Parameters:
    ///   - window: milliseconds over which the clients' slots are spread.
    ///   - deadline: milliseconds after which whoever is left is closed.
    package func beginDrain(
        window: Int64, deadline: Int64, succession: Succession = .beside, at now: Timestamp
    ) {
        guard drain == nil else { return }
        self.now = now
        // In the order in which they came, on whichever loop.
        let leaving = sessions.values.filter { !$0.isClosing }
            .sorted { ($0.since, $0.id) < ($1.since, $1.id) }
        var (closing, deadline, begin) = (window, deadline, Int64(0))
        if succession == .after {
            closing = window / Succession.closing
            deadline = min(deadline, window / Succession.parting)
            begin = deadline + Succession.arrival
        }
        var closes: [(at: Timestamp, session: SessionID)] = []
        for (index, session) in leaving.enumerated() {
            let share = (Int64(index), Int64(max(1, leaving.count)))
            let slot = begin + window * share.0 / share.1
            push(session, ServerFrame.goaway(reconnectIn: Int(slot), reason: "draining"))
            closes.append((now.adding(closing * share.0 / share.1), session.id))
        }
        drain = Drain(
            closes: closes.reversed(), deadline: now.adding(deadline),
            lastReturn: now.adding(begin + window))
    }

    /// Milliseconds until whoever comes while the gateway drains may come again, nil if it doesn't.
    package var drainedIn: Int64? {
        drain.map { max(0, $0.lastReturn.milliseconds - now.milliseconds) }
    }

    package var isDraining: Bool { drain != nil }

    /// Whether every client was told, sent what it is owed, and closed, or the deadline is over.
    package var isDrained: Bool {
        guard let drain else { return false }
        return sessions.isEmpty || now >= drain.deadline
    }

    func advanceDrain() {
        guard drain != nil else { return }
        while let next = drain?.closes.last, next.at <= now {
            drain?.closes.removeLast()
            if let session = sessions[next.session] { close(session, .draining) }
        }
    }
}
