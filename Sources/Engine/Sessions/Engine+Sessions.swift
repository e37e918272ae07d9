import Chat
import Wire

/// Connections as the shell and the rest of the engine see them; `Connections` decides who comes in
/// and who goes.
extension Engine {
    /// A WebSocket was accepted.
    /// - Parameters:
    ///   - bearer: a token from the header or the query of the upgrade.
    ///   - address: where it came from, without a port.
    package func connected(
        _ id: SessionID, bearer: String? = nil, from address: String = "", at now: Timestamp
    ) {
        self.now = now
        connections.connected(id, bearer: bearer, from: address)
        takeSteps()
    }

    /// A frame came in.
    package func received(_ id: SessionID, _ frame: RequestFrame, at now: Timestamp) {
        self.now = now
        guard let session = connections[id], !session.isClosing else { return }
        connections.chargeBytes(frame, session)
        guard session.postponed.isEmpty, !isOverfull(session) else {
            return session.postponed.append(.frame(frame))
        }
        take(frame, session)
    }

    func take(_ frame: RequestFrame, _ session: Session) {
        guard let call = connections.take(frame, session) else { return takeSteps() }
        if case .connect = call.request { connect(call) } else { desk.perform(call) }
        takeSteps()
    }

    /// A client says who it is.
    private func connect(_ call: Call) {
        if let session = connections.connect(call, sync.status) { beginUnread(session) }
    }

    /// The connection is gone.
    package func closed(_ id: SessionID) {
        connections.closed(id)
        takeSteps()
    }

    /// A pong came.
    package func ponged(_ id: SessionID, at now: Timestamp) {
        guard let session = connections[id] else { return }
        session.pingSent = nil
        session.lastProgress = now
    }

    /// Closes a user's connections, by the server API.
    /// - Returns: how many there were.
    package func disconnect(user: String, mayComeBack: Bool) -> Int {
        let closing = connections.registry.of(user.id)
        for session in closing {
            // Whoever may come back is told when: at once.
            if mayComeBack {
                push(session, ServerFrame.goaway(reconnectIn: 0, reason: "disconnected"))
            }
            connections.close(session, mayComeBack ? .draining : .disconnected)
        }
        takeSteps()
        return closing.count
    }

    /// Holds everybody to other limits from here on; what was asked for stays paid.
    package func adopt(_ limits: Limits) {
        fanout.adopt(limits)
        streams.adopt(limits)
        connections.adopt(limits)
    }

    // MARK: - Time

    /// Tokens end by the time of day, which is so many milliseconds ahead of the engine's clock.
    package func adopt(timeOfDayAhead ahead: Int64) { connections.adopt(timeOfDayAhead: ahead) }

    /// Time has passed; to be called a few times a second.
    package func tick(at now: Timestamp) {
        self.now = now
        connections.tick()
        takeSteps()
        tickSync()
        settleDueUnread()
        evictIdleStreams()
    }

    /// Streams that nobody has looked at for a while give their memory back.
    private func evictIdleStreams() {
        guard streams.takeEvictionDue(at: now) else { return }
        for stream in streams.values { stream.encoded.drop() }
        connections.registry.dropFullBudgets(at: now)
        if let options = sync.options { return sync.dropIdle(options) }
        streams.evict(beyond: limits.idleStreams)
    }

    // MARK: - Drain

    /// Begins the drain. New connections are refused from now on.
    /// - Parameters:
    ///   - window: milliseconds over which the clients' slots are spread.
    ///   - deadline: milliseconds after which whoever is left is closed.
    package func beginDrain(
        window: Int64, deadline: Int64, succession: Succession = .beside, at now: Timestamp
    ) {
        self.now = now
        connections.beginDrain(window: window, deadline: deadline, succession)
        takeSteps()
    }

    /// Milliseconds until whoever comes while the gateway drains may come again, nil if it doesn't.
    package var drainedIn: Int64? { connections.drainedIn }

    package var isDraining: Bool { connections.isDraining }

    /// Whether every client was told, sent what it is owed, and closed, or the deadline is over.
    package var isDrained: Bool { connections.isDrained }
}

extension Timestamp {
    /// The moment `milliseconds` later.
    func adding(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds + milliseconds)
    }
}
