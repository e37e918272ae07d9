/// When a batch is committed by the thread that submits it: where the process has one core, for a
/// small batch, as long as the disk flushes at once. A second thread would only wait for the same
/// core; but a thread on which all sockets depend must not wait for a disk.
@usableFromInline struct CallersCommits {
    private let pace: WriterPace
    /// A disk that hung for longer is tried again after this time.
    private static let most = Duration.seconds(60)

    /// Until then a flush may take long.
    private var slowUntil: ContinuousClock.Instant?

    init(_ pace: WriterPace) { self.pace = pace }

    @usableFromInline func isDue(at now: ContinuousClock.Instant) -> Bool {
        pace.isOnOneCore && slowUntil.map { $0 <= now } ?? true
    }

    /// A transaction took this long and its thread waited, as for a disk, whether it succeeded or
    /// not. Where the thread has only lost its core, a second one would have lost it, too.
    mutating func waited(_ time: Duration, at now: ContinuousClock.Instant) {
        if time > pace.prompt { slowUntil = now + min(time * pace.caution, Self.most) }
    }

    /// Whether a batch of brief jobs takes about a millisecond at most: other work of the thread
    /// waits for it.
    @usableFromInline static func isSmall(rows: Int, bytes: Int) -> Bool {
        rows <= 50 && bytes <= 64 << 10
    }
}
