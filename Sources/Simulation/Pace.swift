import Chat
import Engine
import Ports

/// The time that socket writes take in a world with pacing. Turns of a world are up to 400 ms
/// apart, so rests are as long. It has a random source of its own, so that a seed gives the same
/// world with and without it.
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

    /// The sockets were written, which took this long.
    mutating func wrote() -> Duration { .milliseconds(random.number(0...2 * Self.longest)) }
}

/// The requests of a greedy client. It has a random source of its own, like `Pace`.
struct Crowd {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed ^ 0x6372_6f77_64) }

    /// How many pages it asks for at once in this turn; nil: none.
    mutating func pages() -> Int? { random.chance(40) ? random.number(10...60) : nil }

    /// The limit of each of them.
    mutating func limit() -> Int { random.pick([1, 50, 150, 500]) ?? 1 }

    mutating func pick(_ conversations: [String]) -> String? { random.pick(conversations) }
}

/// A steady clock for a world in which reading the cache takes time, so that turns exhaust their
/// read budget, and the kernel's account of it: of the reads that take long some wait, some compute
/// and some have lost their core. It has a random source of its own, like `Pace`.
struct ReadClock {
    private var random: SplitMix64
    private(set) var instant: Duration = .zero
    private(set) var usage = ThreadUsage(ran: .zero)

    init(seed: UInt64) { random = SplitMix64(seed ^ 0x7265_6164) }

    mutating func advance(to now: Timestamp) { instant = max(instant, now.instant) }

    /// A read was done: mostly short, sometimes longer than a turn's budget.
    mutating func read() {
        let isLong = random.chance(5)
        let time = Duration.microseconds(isLong ? 3_000 : random.number(10...400))
        instant += time
        switch isLong ? random.number(0...2) : 2 {
        case 0: usage.waits += 1
        case 1: usage.ran += time / 10
        default: usage.ran += time
        }
    }
}

extension Timestamp {
    /// The same moment on the clock of pacing: virtual time never jumps.
    var instant: Duration { .milliseconds(milliseconds) }
}
