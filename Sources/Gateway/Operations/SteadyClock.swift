import Chat
import Glibc

/// The time of day that never goes back: the engine's timers run on it as well as what it tells
/// clients. A clock that is set forward is followed at once; one that is set back is outrun, at the
/// pace of the monotonic clock, so that no ping and no deadline waits for it. Used on the loop.
struct SteadyClock {
    /// Milliseconds from the monotonic clock to the time of day.
    private var offset = Int64.min

    mutating func now() -> Timestamp {
        let elapsed = Self.read(CLOCK_MONOTONIC)
        offset = max(offset, Self.read(CLOCK_REALTIME) - elapsed)
        return Timestamp(milliseconds: elapsed + offset)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
