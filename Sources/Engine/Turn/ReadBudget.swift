/// When the cache is read, so that messages to everybody don't wait for what one client asks. Most
/// answers take a fraction of a millisecond and are given as they come. Instants are those of the
/// clock that never jumps. Owned by the runner of the turns.
package struct ReadBudget {
    /// How long one turn reads before it looks at what came in. A storm of ten thousand resumes is
    /// thousands of reads, and nobody else is to wait for all.
    package static let turn = Duration.microseconds(500)
    /// An answer that took longer than a turn has is followed by a rest so many times as long:
    /// clients who ask for many of those share a third of the loop.
    package static let rest = 2

    /// After an operation was handed to the upstream, reads wait so long for what it says of it,
    /// which goes to everybody. A commit takes less.
    private let standing: Duration
    /// Until then nothing is read.
    package private(set) var standsBackUntil: Duration?
    /// Until then nothing is read for those whose last read took long.
    package private(set) var restsUntil: Duration?
    /// The last time it was for an operation; never twice in a row.
    private var stoodBack = false

    package init(standing: Duration = .milliseconds(1)) { self.standing = standing }

    package var isResting: Bool { restsUntil != nil }

    /// Whether this turn reads.
    /// - Parameter hasAskedUpstream: an operation was handed to the upstream in it.
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

    /// An answer was given.
    /// - Returns: whether it held the turn up, and whether the turn may give another one.
    package mutating func answered(
        from start: Duration, to end: Duration, turnBegan: Duration
    ) -> (isCostly: Bool, goesOn: Bool) {
        let time = end - start
        if time > Self.turn { restsUntil = max(restsUntil ?? end, end + time * Self.rest) }
        return (time > Self.turn, end - turnBegan < Self.turn)
    }
}
