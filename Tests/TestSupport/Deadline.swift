import Glibc

/// A moment after which waiting is over. Everything that waits takes one, so that a test ends with
/// a sentence about what did not come, and never hangs.
package struct Deadline: Sendable {
    private let end: ContinuousClock.Instant

    /// Generous, because the machine may be busy with other tests: it bounds a failure, it does
    /// not measure anything.
    package static var standard: Deadline { .after(.seconds(30)) }

    package static func after(_ duration: Duration) -> Deadline {
        Deadline(end: ContinuousClock.now + duration)
    }

    package var isOver: Bool { ContinuousClock.now >= end }

    /// What is left, in milliseconds rounded up, for `poll`; 0 when it is over.
    package var milliseconds: Int32 {
        let left = end - ContinuousClock.now
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    /// Looks every few milliseconds until `condition` holds; for conditions outside this process,
    /// which nothing announces.
    ///
    /// - Returns: Whether it came to hold.
    package func poll(until condition: () throws -> Bool) rethrows -> Bool {
        while try !condition() {
            if isOver { return false }
            usleep(5000)
        }
        return true
    }
}
