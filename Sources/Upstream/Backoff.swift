/// Exponential backoff with jitter: the wait doubles with each failure up to a limit, then a random
/// point in its upper half is taken, so that gateways that lost the same server don't reconnect in
/// step. A value; its owner keeps it on one thread.
struct Backoff {
    /// The longest wait of a link: clients wait for it, so a server that is back is found within
    /// two seconds.
    static let longest = Duration.seconds(2)

    private let base: Duration
    private let limit: Duration
    private var failures = 0

    init(base: Duration, limit: Duration) {
        self.base = base
        self.limit = limit
    }

    mutating func succeeded() { failures = 0 }

    /// The wait after one more failure.
    mutating func failed() -> Duration {
        // Sixteen doublings pass every limit that can be configured.
        let whole = min(base * (1 << min(failures, 16)), limit)
        failures += 1
        return whole * Double.random(in: 0.5...1)
    }
}
