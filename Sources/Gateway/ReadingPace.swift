/// When questions are answered, so that messages to everybody don't wait for what one client asks.
/// Most answers take a fraction of a millisecond and are given as they come. Owned by the driver,
/// on the loop.
struct ReadingPace {
    typealias Instant = ContinuousClock.Instant

    /// How long one turn answers questions before it looks at what came in. A storm of ten thousand
    /// resumes is thousands of reads, and nobody else is to wait for all.
    static let turn = Duration.microseconds(500)
    /// After an operation was handed to the upstream, questions wait so long for what it says of
    /// it, which goes to everybody. A commit takes less.
    static let standing = Duration.milliseconds(1)
    /// An answer that took longer than a turn has is followed by a rest so many times as long:
    /// clients who ask for many of those share a third of the loop.
    static let rest = 2

    /// Until then no question is answered.
    private(set) var restsUntil: Instant?
    /// The last time it was for an operation; never twice in a row.
    private var stoodBack = false

    /// Whether questions are answered in this turn.
    /// - Parameter hasAskedUpstream: an operation was handed to the upstream in it.
    mutating func mayBegin(hasAskedUpstream: Bool, at now: Instant) -> Bool {
        if let end = restsUntil, now < end { return false }
        restsUntil = nil
        guard hasAskedUpstream, !stoodBack else {
            stoodBack = false
            return true
        }
        stoodBack = true
        restsUntil = now + Self.standing
        return false
    }

    /// An answer was given.
    /// - Returns: whether this turn may give another one.
    mutating func answered(from start: Instant, to end: Instant, turnBegan: Instant) -> Bool {
        let time = end - start
        if time > Self.turn { restsUntil = end + time * Self.rest }
        return restsUntil == nil && end - turnBegan < Self.turn
    }
}
