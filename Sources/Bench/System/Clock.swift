import CLinux
import Glibc

/// A moment or a span of the monotonic clock, in nanoseconds.
typealias Nanoseconds = Int

/// The one clock that everything here is measured by.
enum Clock {
    static let second: Nanoseconds = 1_000_000_000
    static let millisecond: Nanoseconds = 1_000_000

    static func now() -> Nanoseconds {
        var moment = timespec()
        clock_gettime(CLOCK_MONOTONIC, &moment)
        return moment.tv_sec * second + moment.tv_nsec
    }

    static func seconds(_ span: Nanoseconds) -> Double { Double(span) / Double(second) }
}
