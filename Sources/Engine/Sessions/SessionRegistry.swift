import Chat
import Ports
import Wire

/// The sessions by id, user and address; their timers; the sockets to close, or to stop reading;
/// and the users' budgets, which outlive their connections. Owned by the engine.
struct SessionRegistry {
    private var byID: [SessionID: Session] = [:]
    private var byUser: [ID: [Session]] = [:]
    /// Those that have not connected as a user, and are not closing.
    private var strangers: Set<SessionID> = []
    /// Connections from each address, while that has a limit.
    private var byAddress: [String: Int] = [:]
    /// Budgets of connected users, and of those who left until their budget is full again:
    /// reconnecting does not give a new one.
    private var budgets: [ID: UserBudget] = [:]
    private var timers = TimerWheel()
    /// By how many milliseconds the time of day, which tokens expire by, is ahead of the engine's
    /// clock.
    private var timeOfDayAhead: Int64 = 0
    private var closes: [(SessionID, CloseCode)] = []
    /// Sessions to stop reading (true) or to resume reading (false).
    private var throttles: [(SessionID, Bool)] = []
    /// Read costs beyond those known before the read.
    private var lateCharges: [(Payer, Int)] = []

    init(at now: Timestamp) { timers.advance(to: now) }

    // MARK: - Sessions

    subscript(_ id: SessionID) -> Session? { byID[id] }

    var count: Int { byID.count }
    var isEmpty: Bool { byID.isEmpty }
    /// In no order.
    var values: Dictionary<SessionID, Session>.Values { byID.values }

    /// A user's sessions, in the order in which they came.
    func of(_ user: ID) -> [Session] { byUser[user] ?? [] }

    /// A connection that makes room for a new one where the limit is reached: some stranger. An
    /// honest one connects as a user within a round trip; others could fill the gateway.
    var dispensable: Session? { strangers.first.flatMap { byID[$0] } }

    /// A connection was accepted from this address, without a port.
    /// - Returns: whether the limits allow it; if not, it stays registered until it is closed.
    mutating func add(
        _ session: Session, from address: String, _ limits: Limits, hasRoom: Bool
    ) -> Bool {
        byID[session.id] = session
        strangers.insert(session.id)
        guard hasRoom else { return false }
        guard limits.connectionsPerAddress > 0 else { return true }
        let others = byAddress[address, default: 0]
        guard others < limits.connectionsPerAddress else { return false }
        byAddress[address] = others + 1
        session.address = address
        return true
    }

    /// The session's user is known.
    /// - Returns: whether the user may have one more connection.
    mutating func signIn(
        _ session: Session, as user: String, _ limits: Limits, at now: Timestamp
    ) -> Bool {
        let others = byUser[user.id, default: []].count
        guard limits.connectionsPerUser == 0 || others < limits.connectionsPerUser else {
            return false
        }
        session.user = user
        strangers.remove(session.id)
        let budget = budgets[user.id] ?? UserBudget(limits, at: now)
        budgets[user.id] = budget
        // The budget pays for `connect` itself.
        budget.requests.charge(1, at: now)
        session.rate.budget = budget
        byUser[user.id, default: []].append(session)
        return true
    }

    /// The session's connection must be closed.
    mutating func close(_ session: Session, _ code: CloseCode) {
        strangers.remove(session.id)
        closes.append((session.id, code))
    }

    /// Removes the session from its user's sessions.
    mutating func signOut(_ session: Session) {
        guard let user = session.user else { return }
        byUser[user.id]?.removeAll { $0 === session }
        if byUser[user.id]?.isEmpty == true { byUser[user.id] = nil }
    }

    /// The connection is gone.
    mutating func remove(_ id: SessionID) -> Session? {
        guard let session = byID.removeValue(forKey: id) else { return nil }
        strangers.remove(id)
        if let address = session.address, let others = byAddress[address] {
            byAddress[address] = others > 1 ? others - 1 : nil
        }
        return session
    }

    /// Connections to close after their outboxes were sent.
    mutating func takeCloses() -> [(SessionID, CloseCode)] {
        guard !closes.isEmpty else { return [] }
        defer { closes.removeAll(keepingCapacity: true) }
        return closes
    }

    // MARK: - Budgets

    /// Applies new limits from here on. Costs already charged stay charged.
    func adopt(_ limits: Limits) {
        for budget in budgets.values {
            budget.requests.adopt(rate: limits.requestsPerSecond)
            budget.bytes.adopt(rate: limits.bytesPerSecond, burst: limits.bytesPerSecond)
        }
        for session in byID.values { session.rate.adopt(limits.requestsPerSecond) }
    }

    /// Drops full budgets of users without connections: a new one would be the same.
    mutating func dropFullBudgets(at now: Timestamp) {
        for (user, budget) in budgets where byUser[user] == nil && budget.isFull(at: now) {
            budgets[user] = nil
        }
    }

    // MARK: - Charges for reads

    /// A read for the session has cost this much more than was known before.
    mutating func noteLate(_ cost: Int, _ session: Session) {
        guard cost > 0, let user = session.user else { return }
        lateCharges.append((Payer(user: user.id, session: session.id), cost))
    }

    mutating func takeLateCharges() -> [(Payer, Int)] {
        guard !lateCharges.isEmpty else { return [] }
        defer { lateCharges.removeAll(keepingCapacity: true) }
        return lateCharges
    }

    // MARK: - Throttling

    /// More postponed requests than this are left to the client's socket.
    private static let postponedLimit = 1000

    /// Decides again whether the session's socket is read. It is not while a pause for rate limits
    /// lasts, nor while its unanswered requests weigh too much, or many are postponed.
    mutating func noteThrottle(_ session: Session) {
        let isBusy =
            session.requests.weight >= RequestsUnderWay.weightLimit
            || session.postponed.count >= Self.postponedLimit
        guard let isThrottled = session.rate.noteThrottle(isBusy: isBusy) else { return }
        throttles.append((session.id, isThrottled))
    }

    /// Stops reading the session for this many milliseconds, unless it is paused already.
    mutating func pause(_ session: Session, _ milliseconds: Int, at now: Timestamp) {
        let end = now.adding(Int64(milliseconds))
        guard session.rate.pause(until: end) else { return }
        timers.schedule(session.id, at: end)
        noteThrottle(session)
    }

    /// Ends a pause whose time is over.
    mutating func endPause(_ session: Session, at now: Timestamp) {
        guard session.rate.endPause(at: now) else { return }
        noteThrottle(session)
    }

    /// Sessions to stop reading (true) or to resume reading (false).
    mutating func takeThrottles() -> [(SessionID, Bool)] {
        guard !throttles.isEmpty else { return [] }
        defer { throttles.removeAll(keepingCapacity: true) }
        return throttles
    }

    // MARK: - Time

    /// Tokens expire by the time of day, which is this many milliseconds ahead of the engine's
    /// clock.
    /// - Returns: whether this has changed.
    mutating func adopt(timeOfDayAhead ahead: Int64) -> Bool {
        guard ahead != timeOfDayAhead else { return false }
        timeOfDayAhead = ahead
        return true
    }

    /// When the session's token stops being accepted, by the engine's clock; nil without a token.
    func tokenEnd(of session: Session) -> Timestamp? {
        session.credentials.deadline?.adding(-timeOfDayAhead)
    }

    /// Sets the session's timer.
    mutating func schedule(_ session: Session, at moment: Timestamp) {
        session.liveness.nextLook = moment
        timers.schedule(session.id, at: moment)
    }

    mutating func advance(to now: Timestamp) { timers.advance(to: now) }

    /// Whether timers are due that were not handed out.
    var isBehind: Bool { timers.isBehind }

    /// The sessions whose timers are due, at most `limit`, each handed out once.
    mutating func takeDue(_ limit: Int) -> ArraySlice<SessionID> { timers.take(limit) }
}
