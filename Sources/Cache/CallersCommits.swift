/// When a batch is committed by the thread that submits it: where the process has one core, for a
/// small batch, as long as the disk flushes at once. A second thread would only wait for the same
/// core; but a thread on which all sockets depend must not wait for a disk.
struct CallersCommits {
    private let pace: WriterPace
    /// Until then a flush may take long.
    private var slowUntil: ContinuousClock.Instant?

    init(_ pace: WriterPace) { self.pace = pace }

    func isDue(at now: ContinuousClock.Instant) -> Bool {
        pace.isOnOneCore && slowUntil.map { $0 <= now } ?? true
    }

    /// A commit took this long, the flush included.
    mutating func note(_ time: Duration, at now: ContinuousClock.Instant) {
        if time > pace.promptCommit { slowUntil = now + pace.caution }
    }

    /// Whether the batch takes about a millisecond at most: other work of the thread waits for it.
    static func isSmall(rows: Int, bytes: Int) -> Bool { rows <= 200 && bytes <= 64 << 10 }
}
