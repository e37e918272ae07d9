import Ports

/// When the cache is read, so that messages to everybody don't wait for one client's questions.
/// Most answers take a fraction of a millisecond and are given at once. Instants are on the steady
/// clock. Owned by the turn runner.
package struct ReadBudget {
    /// How long one turn reads before it looks at new input: a storm of ten thousand resumes is
    /// thousands of reads, and nobody else should wait for all of them. It counts from when the
    /// turn begins to read: after a fan-out that took longer, a turn would answer a single read.
    package static let turn = Duration.microseconds(500)
    /// An answer that cost more than a turn's time is followed by a rest this many times as long:
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
    /// When this turn began to read.
    private var began = Duration.zero
    private var account = CostAccount()

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

    /// The turn begins to read.
    package mutating func begin(at instant: Duration, _ usage: () -> ThreadUsage) {
        began = instant
        account.begin(at: instant, usage)
    }

    /// A read was answered.
    /// - Returns: whether it was costly, and whether the turn may read on.
    package mutating func answered(
        from start: Duration, to end: Duration, _ usage: () -> ThreadUsage
    ) -> (isCostly: Bool, goesOn: Bool) {
        let goesOn = end - began < Self.turn
        guard end - start > Self.turn else {
            account.passed(at: end, usage)
            return (false, goesOn)
        }
        let cost = account.cost(from: start, to: end, usage)
        guard cost > Self.turn else { return (false, goesOn) }
        restsUntil = max(restsUntil ?? end, end + cost * Self.rest)
        return (true, goesOn)
    }
}
