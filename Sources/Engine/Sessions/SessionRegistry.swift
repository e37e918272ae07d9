import Chat
import Ports
import Wire

/// Who is connected, by number, user and address; whom to look at when; whose sockets are to be
/// closed, or not to be read. And what users may still ask for, which outlives their connections.
/// Owned by the engine.
struct SessionRegistry {
    private var byID: [SessionID: Session] = [:]
    private var byUser: [ID: [Session]] = [:]
    /// How many came from each address, while that has a limit.
    private var byAddress: [String: Int] = [:]
    /// Of those who are connected, and of those who were until their budget is whole again: to come
    /// back is no way to a new one.
    private var budgets: [ID: UserBudget] = [:]
    private var timers = TimerWheel()
    /// By how many milliseconds the time of day, which tokens end by, is ahead of the engine's.
    private var timeOfDayAhead: Int64 = 0
    private var closes: [(SessionID, CloseCode)] = []
    /// Sessions that are not to be read any more, or again.
    private var throttles: [(SessionID, Bool)] = []
    /// What reads have cost beyond what was known before them.
    private var lateCharges: [(Payer, Int)] = []

    init(at now: Timestamp) { timers.advance(to: now) }

    // MARK: - Who is here

    subscript(_ id: SessionID) -> Session? { byID[id] }

    var count: Int { byID.count }
    var isEmpty: Bool { byID.isEmpty }
    /// In no order.
    var values: Dictionary<SessionID, Session>.Values { byID.values }

    /// A user's sessions, in the order in which they came.
    func of(_ user: ID) -> [Session] { byUser[user] ?? [] }

    /// A connection has come, from this address, without a port.
    /// - Returns: whether there is room for it; if not, it is here until it is closed.
    mutating func add(_ session: Session, from address: String, _ limits: Limits) -> Bool {
        byID[session.id] = session
        guard byID.count <= limits.connections else { return false }
        guard limits.connectionsPerAddress > 0 else { return true }
        let others = byAddress[address, default: 0]
        guard others < limits.connectionsPerAddress else { return false }
        byAddress[address] = others + 1
        session.address = address
        return true
    }

    /// The session has said who it is.
    /// - Returns: whether the user may have one more.
    mutating func signIn(
        _ session: Session, as user: String, _ limits: Limits, at now: Timestamp
    ) -> Bool {
        let others = byUser[user.id, default: []].count
        guard limits.connectionsPerUser == 0 || others < limits.connectionsPerUser else {
            return false
        }
        session.user = user
        let budget = budgets[user.id] ?? UserBudget(limits, at: now)
        budgets[user.id] = budget
        // `connect` is charged to it.
        budget.requests.charge(1, at: now)
        session.rate.budget = budget
        byUser[user.id, default: []].append(session)
        return true
    }

    /// The session is to be closed, and is not its user's any more.
    mutating func close(_ session: Session, _ code: CloseCode) {
        closes.append((session.id, code))
    }

    /// The user has this session no more.
    mutating func signOut(_ session: Session) {
        guard let user = session.user else { return }
        byUser[user.id]?.removeAll { $0 === session }
        if byUser[user.id]?.isEmpty == true { byUser[user.id] = nil }
    }

    /// The connection is gone.
    mutating func remove(_ id: SessionID) -> Session? {
        guard let session = byID.removeValue(forKey: id) else { return nil }
        if let address = session.address, let others = byAddress[address] {
            byAddress[address] = others > 1 ? others - 1 : nil
        }
        return session
    }

    /// Connections to close, after their outboxes were sent.
    mutating func takeCloses() -> [(SessionID, CloseCode)] {
        guard !closes.isEmpty else { return [] }
        defer { closes.removeAll(keepingCapacity: true) }
        return closes
    }

    // MARK: - Budgets

    /// Holds everybody to other limits from here on; what was asked for stays paid.
    func adopt(_ limits: Limits) {
        for budget in budgets.values {
            budget.requests.adopt(rate: limits.requestsPerSecond)
            budget.bytes.adopt(rate: limits.bytesPerSecond, burst: limits.bytesPerSecond)
        }
        for session in byID.values { session.rate.adopt(limits.requestsPerSecond) }
    }

    /// Lets go of the budgets that say nothing any more.
    mutating func dropFullBudgets(at now: Timestamp) {
        for (user, budget) in budgets where byUser[user] == nil && budget.isFull(at: now) {
            budgets[user] = nil
        }
    }

    // MARK: - Whose read is next

    /// What the session was read for has cost so much more than was known before.
    mutating func noteLate(_ cost: Int, _ session: Session) {
        guard cost > 0, let user = session.user else { return }
        lateCharges.append((Payer(user: user.id, session: session.id), cost))
    }

    mutating func takeLateCharges() -> [(Payer, Int)] {
        guard !lateCharges.isEmpty else { return [] }
        defer { lateCharges.removeAll(keepingCapacity: true) }
        return lateCharges
    }

    // MARK: - Who is read

    /// Whether the session is to be read may have changed. It is not read while it has asked for
    /// too much, nor while answers that cost much wait to be given.
    mutating func noteThrottle(_ session: Session) {
        let isBusy = session.requests.weight >= RequestsUnderWay.weightLimit
        guard let isThrottled = session.rate.noteThrottle(isBusy: isBusy) else { return }
        throttles.append((session.id, isThrottled))
    }

    /// Leaves the session unread for so many milliseconds, if it is not left so already.
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

    /// Sessions whose sockets are not to be read from now on (true), or again (false).
    mutating func takeThrottles() -> [(SessionID, Bool)] {
        guard !throttles.isEmpty else { return [] }
        defer { throttles.removeAll(keepingCapacity: true) }
        return throttles
    }

    // MARK: - Time

    /// Tokens end by the time of day, which is so many milliseconds ahead of the engine's clock.
    /// - Returns: whether it was not.
    mutating func adopt(timeOfDayAhead ahead: Int64) -> Bool {
        guard ahead != timeOfDayAhead else { return false }
        timeOfDayAhead = ahead
        return true
    }

    /// When the session's token ends, by the engine's clock; nil without a token.
    func tokenEnd(of session: Session) -> Timestamp? {
        session.credentials.deadline?.adding(-timeOfDayAhead)
    }

    /// Has the session looked at.
    mutating func schedule(_ session: Session, at moment: Timestamp) {
        session.liveness.nextLook = moment
        timers.schedule(session.id, at: moment)
    }

    mutating func advance(to now: Timestamp) { timers.advance(to: now) }

    /// Whether there are some to look at that were not handed out.
    var isBehind: Bool { timers.isBehind }

    /// Whom to look at next, at most `limit`, each handed out once.
    mutating func takeDue(_ limit: Int) -> ArraySlice<SessionID> { timers.take(limit) }
}
