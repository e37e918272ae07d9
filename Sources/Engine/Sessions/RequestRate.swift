import Chat

/// How much a connection may ask for, and whether it is read. Part of a session.
struct RequestRate {
    /// What it may ask for before it has said who it is.
    private var bucket: TokenBucket
    /// How many requests beyond that it may have refused, before it is not read for a while.
    private var refusals: TokenBucket
    /// What its user may ask for, from `connect` on.
    var budget: UserBudget?
    /// Until then it is not read.
    private(set) var pausedUntil: Timestamp?
    /// The shell was told not to read it.
    private(set) var isThrottled = false

    /// How many refusals a second are still answered. What that costs does not depend on what is
    /// allowed.
    private static let refusals = 200

    /// - Parameter rate: `limits.requests_per_second`.
    init(_ rate: Int, at now: Timestamp) {
        bucket = TokenBucket(rate: rate, at: now)
        refusals = TokenBucket(rate: Self.refusals, burst: Self.refusals * 5, at: now)
    }

    /// The limit was reloaded.
    mutating func adopt(_ rate: Int) { bucket.adopt(rate: rate) }

    /// Takes what a frame costs.
    /// - Parameter largest: what a frame costs at most, of a user's budget.
    /// - Returns: nil if it was there, otherwise the milliseconds until it will be.
    mutating func take(_ cost: Int, largest: Int, at now: Timestamp) -> Int? {
        guard let budget else { return bucket.take(cost, at: now) }
        return budget.requests.take(min(cost, largest), at: now)
    }

    /// A request was refused.
    /// - Returns: for how many milliseconds it is not to be read, if it is read and refused much.
    mutating func refuse(_ cost: Int, at now: Timestamp) -> Int? {
        guard pausedUntil == nil else { return nil }
        return refusals.take(cost, at: now)
    }

    /// It is not read until then.
    /// - Returns: whether it was read.
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

    /// Whether it is to be left unread may have changed.
    /// - Parameter isBusy: answers that cost much wait to be given.
    /// - Returns: whether it is to be left unread from now on; nil if the shell knows.
    mutating func noteThrottle(isBusy: Bool) -> Bool? {
        let isToBeThrottled = pausedUntil != nil || isBusy
        guard isToBeThrottled != isThrottled else { return nil }
        isThrottled = isToBeThrottled
        return isThrottled
    }
}
