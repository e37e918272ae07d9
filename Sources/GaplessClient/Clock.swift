import Chat
import ClientCore
import Glibc

/// The clocks of the system, for a core that has none.
enum Clock {
    static func now() -> Instant {
        let time = read(CLOCK_REALTIME)
        return Instant(monotonic: read(CLOCK_MONOTONIC), clock: Timestamp(milliseconds: time))
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
