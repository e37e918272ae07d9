import Chat
import Engine

/// What writing to sockets takes in a world whose conversations rest after it. The turns of a world
/// are up to 400 ms apart, so the rests are as long. It draws from a source of its own: with and
/// without it a seed is the same world.
struct Pace {
    private var random: SplitMix64
    private static let longest = 1_500

    init(seed: UInt64) { random = SplitMix64(seed ^ 0x7061_6365) }

    func limits(_ limits: Limits) -> Limits {
        var limits = limits
        limits.pacing = 1
        limits.pacingCap = .milliseconds(Self.longest)
        return limits
    }

    /// The sockets of the sessions were written, which took some time.
    mutating func wrote(_ sessions: [SessionID], of engine: Engine, at now: Timestamp) {
        guard !sessions.isEmpty else { return }
        let time = Duration.milliseconds(random.number(0...2 * Self.longest))
        engine.wrote(sessions.count, in: time, at: now.instant)
    }
}

extension Timestamp {
    /// The same moment on the clock of pacing: virtual time never jumps.
    var instant: Duration { .milliseconds(milliseconds) }
}
