/// A rate limit on what no other quota charges: pings, pongs, short fragments, requests without a
/// key, what a peer sends after its refusal or after our close frame. Allows a burst, then a
/// constant rate; above it the connection is not read for a moment, so that the rest waits with
/// the peer. One number per connection. Pure.
struct Toll {
    static let perSecond = 50
    static let burst = 200
    /// How long a connection above the limit is not read.
    static let rest: Duration = .seconds(1)

    private static let millisecondsEach = UInt64(1000 / perSecond)
    /// When everything sent so far is paid off, in milliseconds of the monotonic clock.
    private var paidAt: UInt64 = 0

    /// Charges one item.
    /// - Returns: whether that exceeded the limit.
    mutating func take(at now: UInt64) -> Bool {
        paidAt = max(paidAt, now) + Self.millisecondsEach
        return paidAt - now > UInt64(Self.burst) * Self.millisecondsEach
    }
}
