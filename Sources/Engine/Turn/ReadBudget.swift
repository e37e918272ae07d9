/// When the cache is read, so that messages to everybody don't wait for one client's questions.
/// Most answers take a fraction of a millisecond and are given at once. Instants are on the steady
/// clock. Owned by the turn runner.
package struct ReadBudget {
    /// How long one turn reads before it looks at new input: a storm of ten thousand resumes is
    /// thousands of reads, and nobody else should wait for all of them.
    package static let turn = Duration.microseconds(500)
    /// An answer that took longer than a turn's time is followed by a rest this many times as long:
    /// clients that ask for many such answers share a third of the loop.
    package static let rest = 2

    /// After an operation was handed to the upstream, reads wait this long for its change, which
    /// goes to everybody. A commit takes less.
    private let standing: Duration
    /// No read begins before this.
    package private(set) var standsBackUntil: Duration?
    /// No read begins before this for users whose last read was costly.
    package private(set) var restsUntil: Duration?
    /// Whether the last turn waited for an operation; never twice in a row.
    private var stoodBack = false

    package init(standing: Duration = .milliseconds(1)) { self.standing = standing }

    package var isResting: Bool { restsUntil != nil }

    /// Whether this turn reads.
    /// - Parameter hasAskedUpstream: an operation was handed to the upstream in this turn.
    package mutating func mayBegin(hasAskedUpstream: Bool, at instant: Duration) -> Bool {
        if let end = restsUntil, instant >= end { restsUntil = nil }
        if let end = standsBackUntil, instant < end { return false }
        standsBackUntil = nil
        guard hasAskedUpstream, !stoodBack else {
            stoodBack = false
            return true
        }
        stoodBack = true
        standsBackUntil = instant + standing
        return false
    }

    /// A read was answered.
    /// - Returns: whether it was costly, and whether the turn may read on.
    package mutating func answered(
        from start: Duration, to end: Duration, turnBegan: Duration
    ) -> (isCostly: Bool, goesOn: Bool) {
        let time = end - start
        if time > Self.turn { restsUntil = max(restsUntil ?? end, end + time * Self.rest) }
        return (time > Self.turn, end - turnBegan < Self.turn)
    }
}
