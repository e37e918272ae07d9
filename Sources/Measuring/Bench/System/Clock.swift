import CLinux
import Glibc

/// A time or a duration on the monotonic clock, in nanoseconds.
package typealias Nanoseconds = Int

/// The one clock of all measurements.
package enum Clock {
    package static let second: Nanoseconds = 1_000_000_000
    package static let millisecond: Nanoseconds = 1_000_000

    package static func now() -> Nanoseconds {
        var moment = timespec()
        clock_gettime(CLOCK_MONOTONIC, &moment)
        return moment.tv_sec * second + moment.tv_nsec
    }

    /// The CPU time of the calling thread.
    static func used() -> Nanoseconds {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * second + time.tv_nsec
    }

    package static func seconds(_ span: Nanoseconds) -> Double { Double(span) / Double(second) }
}
