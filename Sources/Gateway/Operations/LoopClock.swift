import Chat
import Ports

/// The times that the parts of a gateway share: the engine's clock, the time of day, and the start.
/// Used on the loop.
final class LoopClock {
    private var steady = SteadyClock()
    /// When the process started.
    let started: Timestamp
    /// The zero of the engine's clock for pacing.
    let origin = ContinuousClock.now

    init() { started = steady.now() }

    func now() -> Timestamp { steady.now() }

    /// The time since `origin`.
    var instant: Duration { ContinuousClock.now - origin }

    /// Milliseconds by which the time of day is ahead of this clock, once a jump of it has settled.
    var ahead: Int64 { steady.ahead }

    /// The time of day, once a jump of it has settled.
    var timeOfDay: Timestamp {
        Timestamp(milliseconds: steady.now().milliseconds + steady.ahead)
    }

    /// Logs a jump of the time of day, once. It does no harm: order follows the monotonic clock.
    func look(_ log: Logger) {
        guard let jump = steady.look() else { return }
        log.say(.clockJumped, ["by_ms": "\(jump)"])
    }
}
