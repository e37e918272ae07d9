import Chat
import JSON
import Rules
import Wire

/// Admission of connections, and rate limits on what clients ask for.
extension Connections {
    /// A WebSocket was accepted.
    /// - Parameters:
    ///   - bearer: a token from the header or the query of the upgrade.
    ///   - address: of the client, without a port.
    func connected(_ id: SessionID, bearer: String?, from address: String) {
        let session = Session(id: id, at: now, rate: limits.requestsPerSecond)
        session.credentials.bearer = bearer
        if !registry.add(session, from: address, limits, hasRoom: makeRoom()) {
            close(session, .connectionLimit)
        } else if drain != nil {
            close(session, .draining)
        } else {
            schedule(session)
        }
    }

    /// Where `limits.connections` is reached, a connection without a user is closed for a new one.
    private func makeRoom() -> Bool {
        guard registry.count >= limits.connections else { return true }
        guard let stranger = registry.dispensable else { return false }
        close(stranger, .connectionLimit)
        return true
    }

    /// A frame came in.
    /// - Returns: its session; nil if the frame is not answered now. Backpressure: a session above
    ///   its soft limit has its frames postponed.
    func admit(_ frame: RequestFrame, from id: SessionID) -> Session? {
        guard let session = registry[id], !session.isClosing else { return nil }
        chargeBytes(frame, session)
        guard session.postponed.isEmpty, !isOverfull(session) else {
            // What waits takes the room of a request; with many unknown fields, of its text.
            session.postponed.append(.frame(frame.decoded()))
            registry.noteThrottle(session)
            return nil
        }
        return session
    }

    /// Checks and charges a frame whose session takes replies.
    /// - Returns: its call; nil if it was refused.
    func take(_ frame: RequestFrame, _ session: Session) -> Call? {
        tally.noteRequest()
        let priced = frame.priced
        if let wait = pay(priced.cost, session) {
            throttle(session, priced.cost)
            let error = RequestError(
                .limitRequestsPerSecond,
                "requests: beyond limits.requests_per_second, at most"
                    + " \(limits.requestsPerSecond) a second are accepted",
                after: wait)
            if let outline = priced.outline {
                journal?.refused(outline, error, session, at: now)
                tally.noteEnd(of: outline, session, error)
            }
            refuse(session, frame.id, error)
            return nil
        }
        let frame = priced.decoded()
        let request: Request
        switch frame.request {
        case .failure(let error):
            if session.user == nil, error.code == .unknownMethod {
                close(session, .protocolViolation)
            } else {
                refuse(session, frame.id, error)
            }
            return nil
        case .success(let value):
            request = value
        }
        guard session.requests.begin(frame.id, weight: request.weight) else {
            refuse(
                session, 0,
                RequestError(
                    .requestIDInUse, "id: \(frame.id) is in use, give each request its own"))
            return nil
        }
        registry.noteThrottle(session)
        let call = Call(
            session: session.id, id: frame.id, request: request, takesCached: frame.takesCached,
            atLeast: frame.atLeast)
        if case .connect(_, _, _, _, _, let trace) = request {
            if session.user == nil { session.trace = trace ?? "" }
            return call
        }
        guard session.user != nil else {
            close(session, .protocolViolation)
            return nil
        }
        if request.showsConversations { session.list.beginRead() }
        return call
    }

    /// A refusal is cheap but not free: a client that keeps asking at full speed is not read for a
    /// moment, so that its requests queue up on its own side.
    private func throttle(_ session: Session, _ cost: Int) {
        guard let wait = session.rate.refuse(cost, at: now) else { return }
        registry.pause(session, min(wait, 1000), at: now)
    }

    private func refuse(_ session: Session, _ id: Int, _ error: RequestError) {
        tally.noteFailure(error)
        push(session, ServerFrame.error(id: id, error))
    }

    /// Handles `connect`.
    /// - Parameter status: the upstream's state as clients see it.
    /// - Returns: the session, if it is admitted.
    func connect(_ call: Call, _ status: UpstreamStatus) -> Session? {
        guard let session = registry[call.session],
            case .connect(let token, let user, _, let unread, let presence, _) = call.request
        else { return nil }
        guard session.user == nil else {
            fail(
                call,
                RequestError(.alreadyConnected, "method: this connection is connected already"))
            return nil
        }
        defer { session.credentials.bearer = nil }
        // The backend sees every user: one who asks to be hidden must not be admitted as present.
        guard presence == .present || limits.clients.presence else {
            fail(call, ClientPolicy.noPresence)
            return nil
        }
        switch authenticator.identify(
            token: token ?? session.credentials.bearer, user: user, at: now)
        {
        case .failure(let refusal):
            refuse(session, call, refusal)
            return nil
        case .success(let identity):
            guard registry.signIn(session, as: identity.user, limits, at: now) else {
                close(session, .connectionLimit)
                return nil
            }
            session.credentials.deadline = identity.deadline
            session.list.asksUnread = unread
            session.presence = presence
            journal?.connected(session, at: now)
            reply(call) { welcome(session, identity.user, status, &$0) }
            schedule(session)
            return session
        }
    }

    private func refuse(_ session: Session, _ call: Call, _ refusal: Refusal) {
        switch refusal {
        case .request(let error):
            fail(call, error)
        case .expired:
            fail(call, RequestError(.tokenExpired, "token: expired"))
            close(session, .tokenExpired)
        case .refused(let reason):
            fail(call, RequestError(.tokenRefused, "token: \(reason)"))
            close(session, .tokenRefused)
        }
    }

    /// Handles `refresh`: replaces the token that is about to expire.
    func refresh(_ session: Session, _ call: Call, token: String) {
        switch authenticator.identify(token: token, user: nil, at: now) {
        case .failure(.request(let error)):
            fail(call, error)
        case .failure(.expired):
            fail(call, RequestError(.tokenExpired, "params.token: expired"))
        case .failure(.refused(let reason)):
            fail(call, RequestError(.tokenRefused, "params.token: \(reason)"))
        case .success(let identity):
            guard identity.user.id == session.user?.id else {
                return fail(call, RequestError(.tokenOfAnother, "params.token: is another user's"))
            }
            session.credentials.deadline = identity.deadline
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

    private func welcome(
        _ session: Session, _ user: String, _ status: UpstreamStatus, _ json: inout JSONWriter
    ) {
        json.beginObject()
        json.member("session", string: publicName(of: session.id))
        json.member("user", string: user)
        json.key("server")
        json.beginObject()
        json.member("name", string: server.name)
        json.member("version", string: server.version)
        json.member("commit", string: server.commit)
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

    // MARK: - Budgets

    /// Takes the cost that the frame's content shows from the rate limit.
    /// - Returns: nil, or the milliseconds until the client may try again.
    private func pay(_ cost: Int, _ session: Session) -> Int? {
        session.rate.take(cost, largest: limits.largestCost, at: now)
    }

    /// Charges what a request cost beyond that. It was answered already, so a missing budget
    /// becomes debt, and a user in debt waits.
    func charge(_ call: Call, _ session: Session, rows: Int, bytes: Int, people: Int) {
        let paid = call.request.cost
        let cost = call.request.cost(rows: rows, bytes: bytes, people: people)
        registry.noteLate(min(cost, limits.largestCost) - call.readCost, session)
        guard limits.requestsPerSecond > 0, let budget = session.rate.budget else { return }
        let more = min(cost, limits.largestCost) - min(paid, limits.largestCost)
        if more > 0 { budget.requests.charge(more, at: now) }
    }

    /// Charges the bytes of a frame. While the user is in debt, none of the user's sockets is read.
    private func chargeBytes(_ frame: RequestFrame, _ session: Session) {
        guard limits.bytesPerSecond > 0, let user = session.user, let budget = session.rate.budget
        else {
            return
        }
        budget.bytes.charge(frame.size, at: now)
        guard let wait = budget.bytes.debt(at: now) else { return }
        for session in registry.of(user.id) {
            registry.pause(session, min(wait, Self.longestPause), at: now)
        }
    }

    /// Milliseconds. The debt of one turn is paid back quickly; the bound is for limits that were
    /// lowered, which must not silence a user for long.
    private static let longestPause = 10_000
}
