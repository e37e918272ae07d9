import Chat
import Wire

/// Timers: pings, token expiry, timeouts of silent connections, and the drain.
extension Connections {
    /// Tokens expire by the time of day, which is this many milliseconds ahead of the engine's
    /// clock.
    func adopt(timeOfDayAhead ahead: Int64) {
        guard registry.adopt(timeOfDayAhead: ahead) else { return }
        for session in registry.values where session.credentials.deadline != nil {
            schedule(session)
        }
    }

    /// Time has passed.
    func tick() {
        registry.advance(to: now)
        advanceDrain()
    }

    /// Runs some of the timers that are due. Thousands of connections that came together have their
    /// timers due together, and nobody else should wait for all of them.
    func runTimers() {
        for id in registry.takeDue(Self.looksPerTurn) {
            guard let session = registry[id], !session.isClosing else { continue }
            registry.endPause(session, at: now)
            if session.liveness.nextLook <= now { look(at: session) }
        }
    }

    /// A pong came.
    func ponged(_ id: SessionID, at now: Timestamp) {
        guard let session = registry[id] else { return }
        session.liveness.ponged(at: now)
    }

    /// Closing a session costs some 15 µs.
    private static let looksPerTurn = 8

    private func look(at session: Session) {
        guard session.user != nil else {
            if now >= session.liveness.since.adding(limits.connectTimeout) {
                return close(session, .protocolViolation)
            }
            return schedule(session)
        }
        if let end = registry.tokenEnd(of: session), now >= end {
            return close(session, .tokenExpired)
        }
        if let silence = session.liveness.silentSince,
            now >= silence.adding(limits.pongTimeout)
        {
            fanout.delivery.discard(session, at: now)
            return close(session, .noPong)
        }
        if now >= session.liveness.lastPing.adding(limits.pingInterval) {
            push(session, .barrier(Frame.ping))
            session.liveness.pinged(at: now)
        }
        if now >= session.lane.lastSent.adding(limits.pingInterval),
            session.lane.outbox.bytesInFlight == 0
        {
            push(session, Broadcast(ServerFrame.ping, .ping))
        }
        schedule(session)
    }

    /// Schedules a look at the session for its next deadline.
    func schedule(_ session: Session) {
        guard session.user != nil else {
            return registry.schedule(
                session, at: session.liveness.since.adding(limits.connectTimeout))
        }
        var next = session.liveness.lastPing.adding(limits.pingInterval)
        let silence = session.lane.lastSent.adding(limits.pingInterval)
        if silence > now { next = min(next, silence) }
        if let silence = session.liveness.silentSince {
            next = min(next, silence.adding(limits.pongTimeout))
        }
        if let end = registry.tokenEnd(of: session) { next = min(next, end) }
        registry.schedule(session, at: max(next, now.adding(1)))
    }

    // MARK: - Drain

    /// Begins the drain. New connections are refused from now on.
    /// - Parameters:
    ///   - window: milliseconds over which the clients' slots are spread.
    ///   - deadline: milliseconds after which the remaining clients are closed.
    func beginDrain(window: Int64, deadline: Int64, _ succession: Succession) {
        guard drain == nil else { return }
        // In the order of their arrival, whichever loop serves them.
        let leaving = registry.values.filter { !$0.isClosing }
            .sorted { ($0.liveness.since, $0.id) < ($1.liveness.since, $1.id) }
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
            session.returnsAt = now.adding(slot)
            closes.append((now.adding(closing * share.0 / share.1), session.id))
        }
        drain = Drain(
            closes: closes.reversed(), deadline: now.adding(deadline),
            lastReturn: now.adding(begin + window))
    }

    /// While the gateway drains: milliseconds until new clients may connect again. Otherwise nil.
    var drainedIn: Int64? {
        drain.map { max(0, $0.lastReturn.milliseconds - now.milliseconds) }
    }

    var isDraining: Bool { drain != nil }

    /// Whether every client got `goaway` and its pending frames and was closed, or the deadline
    /// passed.
    var isDrained: Bool {
        guard let drain else { return false }
        return registry.isEmpty || now >= drain.deadline
    }

    /// Whether the deadline of the drain has passed.
    var isPastDrain: Bool { drain.map { now >= $0.deadline } ?? false }

    private func advanceDrain() {
        guard drain != nil else { return }
        while let next = drain?.closes.last, next.at <= now {
            drain?.closes.removeLast()
            if let session = registry[next.session] { close(session, .draining) }
        }
    }
}
