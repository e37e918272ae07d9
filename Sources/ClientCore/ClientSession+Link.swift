import Chat
import JSON
import Wire

/// What a session knows of its connection.
struct Link: Sendable {
    /// Counts the tries, so that what belongs to an earlier one is known.
    var attempt = 0
    var credentials: Credentials?
    var heardAt: Int64 = 0
    /// When the try began, or the session.
    var since: Int64 = 0
    /// So long may the gateway be silent, in milliseconds.
    var silence: Int64 = 37_500
    /// Nobody reads at present, so nothing can be heard.
    var isPaused = false
    /// The gateway said that the token ran out.
    var isExpired = false
    /// When the draining gateway wants to see us again.
    var slotAt: Int64?
    /// The gateway refused `connect`, and is given time to close with a code of its own.
    var refusal: UInt16?
    var backoff = Backoff()
}

/// How a session connects, notices that it is alone, and comes back.
extension ClientSession {
    /// A connection that lived this long was a good one: the next backoff begins at its base.
    private static let goodAfter: Int64 = 10_000
    /// Given to the gateway to close with a code of its own after it refused `connect`.
    private static let refusalGrace: Int64 = 1_000
    /// A gateway that sees a violation closes at once; one that hears nothing waits for longer.
    private static let violationDelay: Int64 = 1_000

    /// Connects, and stays connected until `close`.
    package mutating func open(_ now: Instant) {
        switch state {
        case .idle, .closed: connect(now)
        default: break
        }
    }

    /// Ends the connection; `open` begins again.
    package mutating func close(_ now: Instant) {
        if case .closed = state { return }
        lose(nil, again: false, now)
    }

    /// Tries at once where it waits: the network came back, or a person asked.
    package mutating func wake(_ now: Instant) {
        if case .waiting = state { connect(now) }
    }

    private mutating func connect(_ now: Instant) {
        link.attempt += 1
        link.slotAt = nil
        link.refusal = nil
        clearLinkAlarms()
        set(.step, at: now.monotonic + options.connectTimeout)
        link.since = now.monotonic
        setState(.connecting)
        act(.ask(attempt: link.attempt, isExpired: link.isExpired))
    }

    /// The answer to `ask`: nil if there are none, and the session ends for good.
    package mutating func credentials(
        _ credentials: Credentials?, attempt: Int, _ now: Instant
    ) {
        if state.isLive { return refresh(with: credentials, attempt) }
        guard attempt == link.attempt, state == .connecting else { return }
        guard let credentials else {
            let code: CloseCode = link.isExpired ? .tokenExpired : .tokenRefused
            return lose(code.rawValue, again: false, now)
        }
        link.isExpired = false
        link.credentials = credentials
        act(.connect)
    }

    /// The answer to `ask` could not be had now.
    package mutating func credentialsFailed(attempt: Int, _ now: Instant) {
        if attempt == link.attempt, state == .connecting { lose(nil, now) }
    }

    /// The socket is open.
    package mutating func opened(_ now: Instant) {
        guard state == .connecting, let credentials = link.credentials else { return }
        var params = RequestParams()
        switch credentials {
        case .user(let name): params.set("user", name)
        case .token(let token, _): params.set("token", token)
        }
        params.set("client", options.client)
        send("connect", params, .connect)
    }

    /// The socket is gone.
    package mutating func closed(code: UInt16?, _ now: Instant) {
        let code = code ?? link.refusal
        lose(state.isLive ? code : codeOfTry(code, now), now)
    }

    /// Reading has stopped, since what came is not taken, or goes on.
    package mutating func paused(_ isPaused: Bool, _ now: Instant) {
        link.isPaused = isPaused
        guard state.isLive else { return }
        clear(.silence)
        link.heardAt = now.monotonic
        if !isPaused { set(.silence, at: now.monotonic + link.silence) }
    }

    // MARK: The session

    mutating func connected(
        _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        switch result {
        case .failure(let error):
            let isFinal = error.retry == .never
            link.refusal = isFinal ? CloseCode.tokenRefused.rawValue : nil
            set(.step, at: now.monotonic + Self.refusalGrace)
        case .success(let answer):
            let user = try answer.text("user")
            let interval = answer["pingInterval"]?.double ?? 25
            clearLinkAlarms()
            self.user = user
            upstream = try answer.object("upstream")["state"]?.string.flatMap(UpstreamState.init)
            link.since = now.monotonic
            link.silence = Int64(interval * 1500)
            link.isPaused = false
            set(.silence, at: now.monotonic + link.silence)
            if case .token(_, let end?) = link.credentials { refreshBefore(end, now) }
            setState(.live)
            resumeAll(now)
        }
    }

    /// Replaces the token in time: when nine tenths of what it had left are over.
    private mutating func refreshBefore(_ end: Timestamp, _ now: Instant) {
        let left = end.milliseconds - now.clock.milliseconds
        set(.refresh, at: now.monotonic + max(1000, left / 10 * 9))
    }

    private mutating func refresh(with credentials: Credentials?, _ attempt: Int) {
        guard attempt == link.attempt, case .token(let token, _) = credentials else { return }
        link.credentials = credentials
        var params = RequestParams()
        params.set("token", token)
        send("refresh", params, .refresh)
    }

    mutating func refreshed(_ result: Result<JSONObject, RequestError>, _ now: Instant) {
        // Where it failed, the gateway ends the session when the token runs out, and a new one is
        // asked for.
        guard case .success(let answer) = result,
            let end = answer["expiresAt"]?.string.flatMap({ Timestamp($0) })
        else { return }
        refreshBefore(end, now)
    }

    /// The gateway drains: come back in the slot that it gave, whether it closes before or not.
    mutating func leave(in milliseconds: Int, _ now: Instant) {
        let moment = now.monotonic + Int64(max(0, milliseconds))
        link.slotAt = moment
        set(.slot, at: moment)
    }

    mutating func linkAlarm(_ alarm: Alarm, _ now: Instant) {
        switch alarm {
        case .step:
            if case .waiting = state { connect(now) } else { lose(link.refusal, now) }
        case .silence:
            let left = link.heardAt + link.silence - now.monotonic
            if left <= 0 { lose(nil, now) } else { set(.silence, at: now.monotonic + left) }
        case .refresh: act(.ask(attempt: link.attempt, isExpired: false))
        case .slot: lose(CloseCode.draining.rawValue, now)
        default: break
        }
    }

    private mutating func clearLinkAlarms() {
        for alarm in [Alarm.step, .silence, .refresh, .slot] { clear(alarm) }
    }

    /// What it means that the gateway closed a try. `connect` is the first request of every try:
    /// where 3501 comes late, the network kept it from the gateway for longer than
    /// `limits.connect_timeout`, and that is no reason to stay away.
    private func codeOfTry(_ code: UInt16?, _ now: Instant) -> UInt16? {
        let isLate = now.monotonic - link.since >= Self.violationDelay
        return code == CloseCode.protocolViolation.rawValue && isLate ? nil : code
    }

    /// Whether a client that was closed with this code may connect again: the table of
    /// `protocol.md` 2, and its rule for codes that are not in it. Whatever the network does may.
    static func mayComeBack(_ code: UInt16?) -> Bool {
        guard let code else { return true }
        return CloseCode(rawValue: code)?.mayComeBack ?? !(3500...3999).contains(code)
    }

    mutating func lose(_ code: UInt16?, _ now: Instant) {
        lose(code, again: Self.mayComeBack(code), now)
    }

    /// Ends the present try or session and decides about the next one.
    private mutating func lose(_ code: UInt16?, again: Bool, _ now: Instant) {
        if state.isLive, now.monotonic - link.since >= Self.goodAfter { link.backoff.reset() }
        link.attempt += 1
        link.isPaused = false
        clearLinkAlarms()
        act(.disconnect)
        link.isExpired = code == CloseCode.tokenExpired.rawValue
        if code == CloseCode.connectionLimit.rawValue { link.backoff.exhaust() }
        if again {
            let moment =
                link.slotAt.map { max(now.monotonic, $0) }
                ?? now.monotonic + link.backoff.next(options.random())
            set(.step, at: moment)
            setState(.waiting(milliseconds: Int(moment - now.monotonic), code: code))
        } else {
            setState(.closed(code: code))
        }
        failPending()
        interruptAll()
    }

    private mutating func setState(_ state: ConnectionState) {
        self.state = state
        act(.state(state))
    }
}
