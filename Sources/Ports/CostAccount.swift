/// What a thread had of the machine, by the kernel's account.
package struct ThreadUsage: Sendable, Hashable {
    /// The time for which it ran on a core.
    package var ran: Duration
    /// How often it waited, as for a disk. Losing the core to another thread is no waiting.
    package var waits: Int

    package init(ran: Duration, waits: Int = 0) {
        self.ran = ran
        self.waits = waits
    }
}

/// Judges what pieces of work on one thread cost. On busy cores most of those that seem long have
/// only lost the core for a while, which is not the fault of the user who asked for them. So a
/// piece costs the time for which the thread ran; but all of its time if the thread waited
/// meanwhile, because a wait for the disk is part of the work.
///
/// To ask the kernel takes about a microsecond, some percent of a short piece. So it is asked for
/// pieces that seemed long, and for a second after one at the begin of each stretch of work and
/// behind its short pieces, but not more often than each `step`; the first such piece in a while
/// costs all of its time. What short pieces ran since it was asked is not known, but no more than a
/// step is taken off for it: a user who asks for much pays for it, within a step, however long the
/// pieces before have waited for their core. Instants are on any steady clock.
package struct CostAccount {
    /// The usage at an instant before the piece.
    private var base: (instant: Duration, usage: ThreadUsage)?
    private var isKeptUntil: Duration?

    /// How long the account is kept after a piece that seemed long.
    package static let keeping = Duration.seconds(1)
    /// What short pieces may take together before the kernel is asked again.
    package static let step = Duration.microseconds(200)

    package init() {}

    /// A stretch of work begins, without a break until its last piece.
    package mutating func begin(at instant: Duration, _ usage: () -> ThreadUsage) {
        guard let end = isKeptUntil else { return }
        if instant < end {
            base = (instant, usage())
        } else {
            (base, isKeptUntil) = (nil, nil)
        }
    }

    /// A short piece of the stretch was done. What it ran is not to be charged to a long one behind
    /// it, which may have lost its core.
    package mutating func passed(at instant: Duration, _ usage: () -> ThreadUsage) {
        guard let last = base?.instant, instant - last > Self.step else { return }
        base = (instant, usage())
    }

    /// The cost of a piece that seemed long; not more than the time that it took.
    package mutating func cost(
        from start: Duration, to end: Duration, _ usage: () -> ThreadUsage
    ) -> Duration {
        let now = usage()
        defer {
            base = (end, now)
            isKeptUntil = end + Self.keeping
        }
        guard let base, now.waits == base.usage.waits else { return end - start }
        // The short pieces since then ran for as long as they took, at most.
        let ran = now.ran - base.usage.ran - min(start - base.instant, Self.step)
        return min(max(.zero, ran), end - start)
    }
}
