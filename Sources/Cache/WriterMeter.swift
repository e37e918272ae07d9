import Ports

/// How the users of a writer take turns.
@usableFromInline package struct WriterPace: Sendable {
    /// How long a batch accepts further jobs: a new job waits for that, for the commit, and then
    /// for a turn of each other user.
    @usableFromInline package var slice = Duration.milliseconds(5)
    /// The time allowed per row: a job that takes longer than its weight costs its user more.
    @usableFromInline package var row = Duration.microseconds(30)
    /// Whether the threads that submit have one core, which is the writer's too: a small batch is
    /// then written by the thread that submits it, since a second thread would only wait for the
    /// same core. See `Writer.submit`.
    package var isOnOneCore: Bool
    /// A transaction of a small batch that takes longer has waited for the disk: the thread that
    /// submits, on which others depend, must not wait with it.
    package var prompt = Duration.milliseconds(2)
    /// For how many times as long the writer's own thread writes after such a one: the thread that
    /// submits waits for the disk a hundredth of its time at most.
    package var caution = 100

    package init(isOnOneCore: Bool = false) { self.isOnOneCore = isOnOneCore }
}

/// What a writer measures its jobs by.
package struct WriterClock: Sendable {
    /// The time on a steady clock.
    let instant: @Sendable () -> Duration
    /// What the thread that asks had of the machine so far.
    let usage: @Sendable () -> ThreadUsage

    package init(
        instant: @escaping @Sendable () -> Duration, usage: @escaping @Sendable () -> ThreadUsage
    ) {
        (self.instant, self.usage) = (instant, usage)
    }

    /// The system's clock, from now on, and the kernel's account.
    package static func system() -> WriterClock {
        let origin = ContinuousClock.now
        return WriterClock(
            instant: { ContinuousClock.now - origin }, usage: { ThreadUsage.current() })
    }
}

/// Measures what the jobs of a writer cost.
@usableFromInline struct WriterMeter {
    @usableFromInline let pace: WriterPace
    private let clock: WriterClock
    private var account = CostAccount()

    init(_ pace: WriterPace, _ clock: WriterClock) { (self.pace, self.clock) = (pace, clock) }

    /// The time on the meter's clock.
    @usableFromInline var instant: Duration { clock.instant() }

    /// A batch begins.
    @usableFromInline mutating func begin(at instant: Duration) {
        account.begin(at: instant, clock.usage)
    }

    /// A short job was done.
    @usableFromInline mutating func passed(at instant: Duration) {
        account.passed(at: instant, clock.usage)
    }

    /// The cost of a job that seemed long.
    @usableFromInline mutating func cost(from start: Duration, to end: Duration) -> Duration {
        account.cost(from: start, to: end, clock.usage)
    }
}
