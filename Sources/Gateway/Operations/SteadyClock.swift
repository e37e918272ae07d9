import Chat
import Configuration
import Glibc

/// The clock for timers, deadlines and pacing. It starts at the time of day and continues with the
/// monotonic clock, which nobody sets. It compares itself with the time of day, which tokens are
/// checked against, and reports when that jumps. Used on the loop.
struct SteadyClock {
    /// A difference (ms) that no clock drifts by between two looks.
    private static let least: Int64 = 1000
    /// How long (ms) the time of day must stay steady after a jump before open sessions follow it:
    /// a clock that is wrong for a moment ends nobody's token.
    private static let settling: Int64 = 10_000

    private let read: (clockid_t) -> Int64
    /// Milliseconds from the monotonic clock to this one.
    private let offset: Int64
    private var lastAhead: Int64 = 0
    private var settledSince: Int64
    /// Milliseconds by which the time of day is ahead of this clock, once settled.
    private(set) var ahead: Int64 = 0

    /// - Parameter read: a clock of the system, in milliseconds.
    init(read: @escaping (clockid_t) -> Int64 = SteadyClock.system) {
        self.read = read
        let elapsed = read(CLOCK_MONOTONIC)
        offset = read(CLOCK_REALTIME) - elapsed
        settledSince = elapsed - Self.settling
    }

    func now() -> Timestamp { Timestamp(milliseconds: read(CLOCK_MONOTONIC) + offset) }

    /// Compares the clocks; to be called a few times a second.
    /// - Returns: the jump of the time of day since the last look, in milliseconds; nil if there
    ///   was none.
    mutating func look() -> Int64? {
        let elapsed = read(CLOCK_MONOTONIC)
        let ahead = read(CLOCK_REALTIME) - elapsed - offset
        let step = ahead - lastAhead
        lastAhead = ahead
        let hasJumped = abs(step) > Self.least
        if hasJumped { settledSince = elapsed }
        if elapsed - settledSince >= Self.settling { self.ahead = ahead }
        return hasJumped ? step : nil
    }

    /// The time of day as it is now.
    static func timeOfDay() -> Timestamp { Timestamp(milliseconds: system(CLOCK_REALTIME)) }

    static func system(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
