import Chat

/// Rate limits of one connection, and whether its socket is read. Part of a session.
struct RequestRate {
    /// The rate limit before `connect`.
    private var bucket: TokenBucket
    /// Requests above the limit that are still refused by a reply; beyond that the socket is not
    /// read for a while.
    private var refusals: TokenBucket
    /// Its user's budget, from `connect` on.
    var budget: UserBudget?
    /// Until then its socket is not read.
    private(set) var pausedUntil: Timestamp?
    /// Whether the shell was told not to read it.
    private(set) var isThrottled = false

    /// Refusals per second that are still answered. What a refusal costs does not depend on the
    /// configured limit.
    private static let refusals = 200

    /// - Parameter rate: `limits.requests_per_second`.
    init(_ rate: Int, at now: Timestamp) {
        bucket = TokenBucket(rate: rate, at: now)
        refusals = TokenBucket(rate: Self.refusals, burst: Self.refusals * 5, at: now)
    }

    /// The limit was reloaded.
    mutating func adopt(_ rate: Int) { bucket.adopt(rate: rate) }

    /// Takes the cost of a frame.
    /// - Parameter largest: the most that a frame costs of a user's budget.
    /// - Returns: nil if the budget had it, otherwise the milliseconds until it will.
    mutating func take(_ cost: Int, largest: Int, at now: Timestamp) -> Int? {
        guard let budget else { return bucket.take(cost, at: now) }
        return budget.requests.take(min(cost, largest), at: now)
    }

    /// A request was refused.
    /// - Returns: for how many milliseconds not to read the socket; nil if it is paused already, or
    ///   was not refused too often.
    mutating func refuse(_ cost: Int, at now: Timestamp) -> Int? {
        guard pausedUntil == nil else { return nil }
        return refusals.take(cost, at: now)
    }

    /// Pauses reading until then.
    /// - Returns: whether it was not paused before.
    mutating func pause(until end: Timestamp) -> Bool {
        guard pausedUntil == nil else { return false }
        pausedUntil = end
        return true
    }

    /// Ends a pause whose time is over.
    /// - Returns: whether there was one.
    mutating func endPause(at now: Timestamp) -> Bool {
        guard let end = pausedUntil, end <= now else { return false }
        pausedUntil = nil
        return true
    }

    /// Decides again whether its socket is left unread.
    /// - Parameter isBusy: whether its unanswered requests weigh too much.
    /// - Returns: whether to leave it unread from now on; nil if that has not changed.
    mutating func noteThrottle(isBusy: Bool) -> Bool? {
        let isToBeThrottled = pausedUntil != nil || isBusy
        guard isToBeThrottled != isThrottled else { return nil }
        isThrottled = isToBeThrottled
        return isThrottled
    }
}
