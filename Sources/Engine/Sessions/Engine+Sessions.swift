import Chat
import JSON
import Wire

/// The life of a connection: it comes, says who it is, is looked at now and then, and goes.
extension Engine {
    /// A WebSocket was accepted.
    /// - Parameters:
    ///   - bearer: a token from the header or the query of the upgrade.
    ///   - address: where it came from, without a port.
    package func connected(
        _ id: SessionID, bearer: String? = nil, from address: String = "", at now: Timestamp
    ) {
        self.now = now
        let session = Session(id: id, at: now, rate: limits.requestsPerSecond)
        session.bearer = bearer
        if !sessions.add(session, from: address, limits) {
            close(session, .connectionLimit)
        } else if drain != nil {
            close(session, .draining)
        } else {
            schedule(session)
        }
    }

    /// A frame came in.
    package func received(_ id: SessionID, _ frame: RequestFrame, at now: Timestamp) {
        self.now = now
        guard let session = sessions[id], !session.isClosing else { return }
        chargeBytes(frame, session)
        guard session.postponed.isEmpty, !isOverfull(session) else {
            return session.postponed.append(.frame(frame))
        }
        take(frame, session)
    }

    func take(_ frame: RequestFrame, _ session: Session) {
        counters.requests += 1
        if let wait = pay(frame, session) {
            throttle(session, frame.cost)
            let error = RequestError(
                .rateLimited,
                "requests: beyond limits.requests_per_second, at most"
                    + " \(limits.requestsPerSecond) a second are accepted",
                retry: .later, after: wait)
            if case .success(let request) = frame.request {
                journal?.refused(request, error, session, at: now)
                noteTraced(request, session, error)
            }
            return refuse(session, frame.id, error)
        }
        let request: Request
        switch frame.request {
        case .failure(let error):
            if session.user == nil, error.code == .unknownMethod {
                return close(session, .protocolViolation)
            }
            return refuse(session, frame.id, error)
        case .success(let value):
            request = value
        }
        guard session.inFlight.insert(frame.id).inserted else {
            return refuse(
                session, 0, .badRequest("id: \(frame.id) is in use, give each request its own"))
        }
        session.weight += request.weight
        sessions.noteThrottle(session)
        let call = Call(
            session: session.id, id: frame.id, request: request, takesCached: frame.takesCached)
        if case .connect(let token, let user, _, let unread, let trace) = request {
            if session.user == nil { session.trace = trace ?? "" }
            return connect(session, call, token: token, user: user, asksUnread: unread)
        }
        guard session.user != nil else { return close(session, .protocolViolation) }
        if request.showsConversations { session.listReads += 1 }
        perform(call)
    }

    /// To refuse costs little, but not nothing: whoever goes on asking at full speed is not read
    /// for a moment, so that what it asks for waits at its own end.
    private func throttle(_ session: Session, _ cost: Int) {
        guard session.throttledUntil == nil, let wait = session.refusals.take(cost, at: now) else {
            return
        }
        sessions.pause(session, min(wait, 1000), at: now)
    }

    /// The request is answered, in one way or the other.
    func ended(_ call: Call, _ session: Session) {
        guard session.inFlight.remove(call.id) != nil else { return }
        session.weight -= call.request.weight
        sessions.noteThrottle(session)
    }

    private func refuse(_ session: Session, _ id: Int, _ error: RequestError) {
        counters.errors[error.code, default: 0] += 1
        push(session, ServerFrame.error(id: id, error))
    }

    private func connect(
        _ session: Session, _ call: Call, token: String?, user: String?, asksUnread: Bool
    ) {
        guard session.user == nil else {
            return fail(call, .badRequest("method: this connection is connected already"))
        }
        switch authenticator.identify(token: token ?? session.bearer, user: user, at: now) {
        case .failure(let refusal):
            refuse(session, call, refusal)
        case .success(let identity):
            guard sessions.signIn(session, as: identity.user, limits, at: now) else {
                return close(session, .connectionLimit)
            }
            session.deadline = identity.deadline
            session.asksUnread = asksUnread
            journal?.connected(session, at: now)
            reply(call) { welcome(session, identity.user, &$0) }
            beginUnread(session)
            schedule(session)
        }
        session.bearer = nil
    }

    private func refuse(_ session: Session, _ call: Call, _ refusal: Refusal) {
        switch refusal {
        case .request(let error):
            fail(call, error)
        case .expired:
            fail(call, RequestError(.unauthorized, "token: expired", retry: .later))
            close(session, .tokenExpired)
        case .refused(let reason):
            fail(call, RequestError(.unauthorized, "token: \(reason)"))
            close(session, .tokenRefused)
        }
    }

    /// A new token in place of the one that ends.
    func refresh(_ session: Session, _ call: Call, token: String) {
        switch authenticator.identify(token: token, user: nil, at: now) {
        case .failure(.request(let error)):
            fail(call, error)
        case .failure(.expired):
            fail(call, RequestError(.unauthorized, "params.token: expired"))
        case .failure(.refused(let reason)):
            fail(call, RequestError(.unauthorized, "params.token: \(reason)"))
        case .success(let identity):
            guard identity.user.id == session.user?.id else {
                return fail(call, RequestError(.forbidden, "params.token: is another user's"))
            }
            session.deadline = identity.deadline
            reply(call) {
                $0.beginObject()
                $0.key("expiresAt")
                if let expires = identity.expires {
                    $0.string(expires.description)
                } else {
                    $0.null()
                }
                $0.endObject()
            }
            schedule(session)
        }
    }

    /// The connection is gone.
    package func closed(_ id: SessionID) {
        guard let session = sessions.remove(id) else { return }
        if !session.isClosing {
            journal?.closed(session, nil, at: now)
            forget(session)
        }
        session.isClosing = true
        delivery.discard(session, at: now)
    }

    /// A pong came.
    package func ponged(_ id: SessionID, at now: Timestamp) {
        guard let session = sessions[id] else { return }
        session.pingSent = nil
        session.lastProgress = now
    }

    /// Closes a user's connections, by the server API.
    /// - Returns: how many there were.
    package func disconnect(user: String, mayComeBack: Bool) -> Int {
        let closing = sessions.of(user.id)
        for session in closing {
            // Whoever may come back is told when: at once.
            if mayComeBack {
                push(session, ServerFrame.goaway(reconnectIn: 0, reason: "disconnected"))
            }
            close(session, mayComeBack ? .draining : .disconnected)
        }
        return closing.count
    }

    // MARK: - Time

    /// Tokens end by the time of day, which is so many milliseconds ahead of the engine's clock.
    package func adopt(timeOfDayAhead ahead: Int64) {
        guard sessions.adopt(timeOfDayAhead: ahead) else { return }
        for session in sessions.values where session.deadline != nil { schedule(session) }
    }

    /// Time has passed; to be called a few times a second.
    package func tick(at now: Timestamp) {
        self.now = now
        sessions.advance(to: now)
        advanceDrain()
        if mirrors { tickReplicas() }
        settleDueUnread()
        evictIdleStreams()
    }

    /// Looks at some of those whose time has come. Thousands of connections that came together end
    /// together; nobody else is to wait for all of them.
    func runTimers() {
        for id in sessions.takeDue(Self.looksPerTurn) {
            guard let session = sessions[id], !session.isClosing else { continue }
            sessions.endPause(session, at: now)
            if session.nextLook <= now { look(at: session) }
        }
    }

    /// A look that closes costs some 15 µs.
    private static let looksPerTurn = 8

    private func look(at session: Session) {
        guard session.user != nil else {
            if now >= session.since.adding(limits.connectTimeout) {
                return close(session, .protocolViolation)
            }
            return schedule(session)
        }
        if let end = sessions.tokenEnd(of: session), now >= end {
            return close(session, .tokenExpired)
        }
        if let sent = session.pingSent,
            now >= max(sent, session.lastProgress).adding(limits.pongTimeout)
        {
            delivery.discard(session, at: now)
            return close(session, .noPong)
        }
        if now >= session.lastPing.adding(limits.pingInterval) {
            push(session, .barrier(Frame.ping))
            session.pingSent = session.pingSent ?? now
            session.lastPing = now
        }
        if now >= session.lane.lastSent.adding(limits.pingInterval),
            session.lane.outbox.bytesInFlight == 0
        {
            push(session, Broadcast(ServerFrame.ping, .ping))
        }
        schedule(session)
    }

    /// Has the session looked at when the next of its deadlines comes.
    private func schedule(_ session: Session) {
        guard session.user != nil else {
            return sessions.schedule(session, at: session.since.adding(limits.connectTimeout))
        }
        var next = session.lastPing.adding(limits.pingInterval)
        let silence = session.lane.lastSent.adding(limits.pingInterval)
        if silence > now { next = min(next, silence) }
        if let sent = session.pingSent {
            next = min(next, max(sent, session.lastProgress).adding(limits.pongTimeout))
        }
        if let end = sessions.tokenEnd(of: session) { next = min(next, end) }
        sessions.schedule(session, at: max(next, now.adding(1)))
    }

    /// Streams that nobody has looked at for a while give their memory back.
    private func evictIdleStreams() {
        guard now >= nextEviction else { return }
        nextEviction = now.adding(5000)
        for stream in streams.values { stream.encoded.drop() }
        sessions.dropFullBudgets(at: now)
        if let sync { return dropIdleReplicas(sync) }
        guard streams.count > limits.idleStreams else { return }
        // By name as well: a table's order is another one in each process, a simulation's must not
        // be.
        let idle = streams.values.filter(\.isIdle)
            .sorted { ($0.lastUsed, $0.id) < ($1.lastUsed, $1.id) }
        for stream in idle.prefix(streams.count - limits.idleStreams) {
            streams[stream.id.id] = nil
        }
    }

    private func welcome(_ session: Session, _ user: String, _ json: inout JSONWriter) {
        json.beginObject()
        json.member("session", string: "\(instance)-\(session.id)")
        json.member("user", string: user)
        json.key("server")
        json.beginObject()
        json.member("name", string: server.name)
        json.member("version", string: server.version)
        json.endObject()
        json.key("pingInterval")
        if limits.pingInterval % 1000 == 0 {
            json.int(limits.pingInterval / 1000)
        } else {
            json.double(Double(limits.pingInterval) / 1000)
        }
        json.key("limits")
        json.beginObject()
        for limit in limits.shown { json.member(limit.name, int: limit.value) }
        json.endObject()
        json.key("upstream")
        json.beginObject()
        json.member("state", string: status.state.rawValue)
        json.member("since", string: status.since.description)
        json.endObject()
        json.endObject()
    }
}

extension Timestamp {
    /// The moment `milliseconds` later.
    func adding(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds + milliseconds)
    }
}
