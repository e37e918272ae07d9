import Chat
import JSON
import Wire

/// How a session connects, notices that it is alone, and comes back: a machine of its own, which
/// asks for credentials and a socket, and says when a session of the gateway begins and ends.
struct ClientLink: Sendable {
    /// What a try became.
    enum Change {
        /// The gateway took it.
        case began(user: String, UpstreamState?)
        /// The try, or what it had become, is over.
        case ended
    }

    private let options: ClientSession.Options
    private(set) var state = ConnectionState.idle
    /// Counts the tries, so that what belongs to an earlier one is known.
    private var attempt = 0
    private var credentials: Credentials?
    private var heardAt: Int64 = 0
    /// When the try began, or the session.
    private var since: Int64 = 0
    /// So long may the gateway be silent, in milliseconds.
    private var silence: Int64 = 37_500
    /// The gateway said that the token ran out.
    private var isExpired = false
    /// When the draining gateway wants to see us again.
    private var slotAt: Int64?
    /// The gateway refused `connect`, and is given time to close with a code of its own.
    private var refusal: UInt16?
    private var backoff = Backoff()

    init(_ options: ClientSession.Options) { self.options = options }

    /// Why there is no answer.
    var lost: ClientError { if case .closed = state { .closed } else { .disconnected } }

    /// A frame came.
    mutating func heard(_ now: Instant) { heardAt = now.monotonic }

    /// A connection that lived this long was a good one: the next backoff begins at its base.
    private static let goodAfter: Int64 = 10_000
    /// Given to the gateway to close with a code of its own after it refused `connect`.
    private static let refusalGrace: Int64 = 1_000
    /// A gateway that sees a violation closes at once; one that hears nothing waits for longer.
    private static let violationDelay: Int64 = 1_000

    mutating func open(_ now: Instant, _ effects: inout SessionEffects) {
        switch state {
        case .idle, .closed: connect(now, &effects)
        default: break
        }
    }

    /// Ends the connection; `open` begins again.
    mutating func close(_ now: Instant, _ effects: inout SessionEffects) -> Change? {
        if case .closed = state { return nil }
        return lose(nil, again: false, now, &effects)
    }

    /// Tries at once where it waits: the network came back, or a person asked.
    mutating func wake(_ now: Instant, _ effects: inout SessionEffects) {
        if case .waiting = state { connect(now, &effects) }
    }

    private mutating func connect(_ now: Instant, _ effects: inout SessionEffects) {
        attempt += 1
        slotAt = nil
        refusal = nil
        clearAlarms(&effects)
        effects.set(.step, at: now.monotonic + options.connectTimeout)
        since = now.monotonic
        setState(.connecting, &effects)
        effects.act(.ask(attempt: attempt, isExpired: isExpired))
    }

    /// The answer to `ask`: nil if there are none, and the session ends for good.
    mutating func credentials(
        _ credentials: Credentials?, attempt: Int, _ now: Instant,
        _ effects: inout SessionEffects
    ) -> Change? {
        if state.isLive {
            refresh(with: credentials, attempt, &effects)
            return nil
        }
        guard attempt == self.attempt, state == .connecting else { return nil }
        guard let credentials else {
            let code: CloseCode = isExpired ? .tokenExpired : .tokenRefused
            return lose(code.rawValue, again: false, now, &effects)
        }
        isExpired = false
        self.credentials = credentials
        effects.act(.connect)
        return nil
    }

    /// The answer to `ask` could not be had now.
    mutating func credentialsFailed(
        attempt: Int, _ now: Instant, _ effects: inout SessionEffects
    ) -> Change? {
        attempt == self.attempt && state == .connecting ? lose(nil, now, &effects) : nil
    }

    /// The socket is open.
    mutating func opened(as presence: ConnectionPresence, _ effects: inout SessionEffects) {
        guard state == .connecting, let credentials else { return }
        var params = RequestParams()
        switch credentials {
        case .user(let name): params.set("user", name)
        case .token(let token, _): params.set("token", token)
        }
        params.set("client", options.client)
        if options.countsUnread { params.set("unread", true) }
        if presence != .present { params.set("presence", presence.rawValue) }
        effects.send("connect", params, .connect)
    }

    /// The socket is gone.
    mutating func closed(
        code: UInt16?, _ now: Instant, _ effects: inout SessionEffects
    ) -> Change? {
        let code = code ?? refusal
        return lose(state.isLive ? code : codeOfTry(code, now), now, &effects)
    }

    // MARK: The session

    /// - Parameter comesBack: whether a refusal is not for good, whatever it says.
    mutating func connected(
        _ result: Result<JSONObject, RequestError>, comesBack: Bool = false, _ now: Instant,
        _ effects: inout SessionEffects
    ) throws(FrameError) -> Change? {
        switch result {
        case .failure(let error):
            let isFinal = error.retry == .never && !comesBack
            refusal = isFinal ? CloseCode.tokenRefused.rawValue : nil
            effects.set(.step, at: now.monotonic + Self.refusalGrace)
            return nil
        case .success(let answer):
            let user = try answer.text("user")
            let interval = answer["pingInterval"]?.double ?? 25
            clearAlarms(&effects)
            effects.frameLimit = answer["limits"]?.object?["inbound_frame"]?.int
            let upstream = try answer.object("upstream")["state"]?.string
            since = now.monotonic
            silence = Int64(interval * 1500)
            effects.set(.silence, at: now.monotonic + silence)
            if case .token(_, let end?) = credentials { refreshBefore(end, now, &effects) }
            effects.isLive = true
            setState(.live, &effects)
            return .began(user: user, upstream.flatMap(UpstreamState.init))
        }
    }

    /// Replaces the token in time: when nine tenths of what it had left are over.
    private mutating func refreshBefore(
        _ end: Timestamp, _ now: Instant, _ effects: inout SessionEffects
    ) {
        let left = end.milliseconds - now.clock.milliseconds
        effects.set(.refresh, at: now.monotonic + max(1000, left / 10 * 9))
    }

    private mutating func refresh(
        with credentials: Credentials?, _ attempt: Int, _ effects: inout SessionEffects
    ) {
        guard attempt == self.attempt, case .token(let token, _) = credentials else { return }
        self.credentials = credentials
        var params = RequestParams()
        params.set("token", token)
        effects.send("refresh", params, .refresh)
    }

    mutating func refreshed(
        _ result: Result<JSONObject, RequestError>, _ now: Instant,
        _ effects: inout SessionEffects
    ) {
        // Where it failed, the gateway ends the session when the token runs out, and a new one is
        // asked for.
        guard case .success(let answer) = result,
            let end = answer["expiresAt"]?.string.flatMap({ Timestamp($0) })
        else { return }
        refreshBefore(end, now, &effects)
    }

    /// The gateway drains: come back in the slot that it gave, whether it closes before or not.
    mutating func leave(in milliseconds: Int, _ now: Instant, _ effects: inout SessionEffects) {
        let moment = now.monotonic + Int64(max(0, milliseconds))
        slotAt = moment
        effects.set(.slot, at: moment)
    }

    mutating func ring(
        _ alarm: SessionEffects.Alarm, _ now: Instant, _ effects: inout SessionEffects
    ) -> Change? {
        switch alarm {
        case .step:
            guard case .waiting = state else { return lose(refusal, now, &effects) }
            connect(now, &effects)
        case .silence:
            let left = heardAt + silence - now.monotonic
            if left <= 0 { return lose(nil, now, &effects) }
            effects.set(.silence, at: now.monotonic + left)
        case .refresh: effects.act(.ask(attempt: attempt, isExpired: false))
        case .slot: return lose(CloseCode.draining.rawValue, now, &effects)
        default: break
        }
        return nil
    }

    private func clearAlarms(_ effects: inout SessionEffects) {
        for alarm in [SessionEffects.Alarm.step, .silence, .refresh, .slot] {
            effects.clear(alarm)
        }
    }

    /// What it means that the gateway closed a try. `connect` is the first request of every try:
    /// where 3501 comes late, the network kept it from the gateway for longer than
    /// `limits.connect_timeout`, and that is no reason to stay away.
    private func codeOfTry(_ code: UInt16?, _ now: Instant) -> UInt16? {
        let isLate = now.monotonic - since >= Self.violationDelay
        return code == CloseCode.protocolViolation.rawValue && isLate ? nil : code
    }

    /// Whether a client that was closed with this code may connect again: the table of
    /// `protocol.md` 2, and its rule for codes that are not in it. Whatever the network does may.
    static func mayComeBack(_ code: UInt16?) -> Bool {
        guard let code else { return true }
        return CloseCode(rawValue: code)?.mayComeBack ?? !(3500...3999).contains(code)
    }

    mutating func lose(
        _ code: UInt16?, _ now: Instant, _ effects: inout SessionEffects
    ) -> Change? {
        lose(code, again: Self.mayComeBack(code), now, &effects)
    }

    /// Ends the present try or session and decides about the next one.
    private mutating func lose(
        _ code: UInt16?, again: Bool, _ now: Instant, _ effects: inout SessionEffects
    ) -> Change? {
        if state.isLive, now.monotonic - since >= Self.goodAfter { backoff.reset() }
        attempt += 1
        effects.isLive = false
        clearAlarms(&effects)
        effects.act(.disconnect)
        isExpired = code == CloseCode.tokenExpired.rawValue
        if code == CloseCode.connectionLimit.rawValue { backoff.exhaust() }
        if again {
            let moment =
                slotAt.map { max(now.monotonic, $0) }
                ?? now.monotonic + backoff.next(options.random())
            effects.set(.step, at: moment)
            setState(.waiting(milliseconds: Int(moment - now.monotonic), code: code), &effects)
        } else {
            setState(.closed(code: code), &effects)
        }
        return .ended
    }

    private mutating func setState(_ state: ConnectionState, _ effects: inout SessionEffects) {
        self.state = state
        effects.act(.state(state))
    }
}
