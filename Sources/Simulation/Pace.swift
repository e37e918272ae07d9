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

    /// The sockets were written, which took some time.
    mutating func wrote() -> Duration { .milliseconds(random.number(0...2 * Self.longest)) }
}

/// How a greedy client asks. It draws from a source of its own, as `Pace` does.
struct Crowd {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed ^ 0x6372_6f77_64) }

    /// How many pages it asks for at once in this turn; nil for none.
    mutating func pages() -> Int? { random.chance(40) ? random.number(10...60) : nil }

    /// How many messages each of them may have.
    mutating func limit() -> Int { random.pick([1, 50, 150, 500]) ?? 1 }

    mutating func pick(_ conversations: [String]) -> String? { random.pick(conversations) }
}

/// The clock that never jumps, in a world where reading the cache takes time, so that turns run out
/// of their read budget. It draws from a source of its own, as `Pace` does.
struct ReadClock {
    private var random: SplitMix64
    private(set) var instant: Duration = .zero

    init(seed: UInt64) { random = SplitMix64(seed ^ 0x7265_6164) }

    mutating func advance(to now: Timestamp) { instant = max(instant, now.instant) }

    /// Something was read: most often that takes little, now and then more than a turn has.
    mutating func read() {
        instant += .microseconds(random.chance(5) ? 3_000 : random.number(10...400))
    }
}

extension Timestamp {
    /// The same moment on the clock of pacing: virtual time never jumps.
    var instant: Duration { .milliseconds(milliseconds) }
}
