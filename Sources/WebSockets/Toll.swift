/// What a peer may send that nobody else charges: pings, pongs, short fragments, requests without a
/// key. So many at once are free, and so many a second after that; whoever sends more is not read
/// for a moment, so that the rest waits at its own end. One number for a connection. Pure.
struct Toll {
    static let perSecond = 50
    static let burst = 200
    /// How long whoever sent too much is not read.
    static let rest: Duration = .seconds(1)

    private static let millisecondsEach = UInt64(1000 / perSecond)
    /// When all that was sent is paid for, in milliseconds of the monotonic clock.
    private var paidAt: UInt64 = 0

    /// Takes one.
    /// - Returns: whether that was too much.
    mutating func take(at now: UInt64) -> Bool {
        paidAt = max(paidAt, now) + Self.millisecondsEach
        return paidAt - now > UInt64(Self.burst) * Self.millisecondsEach
    }
}
