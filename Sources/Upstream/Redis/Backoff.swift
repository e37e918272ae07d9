/// How long to wait before the next try: twice as long after each failure, up to a limit, and
/// anywhere in the upper half of that, so that gateways that lost the same server don't come back
/// in step. A value; its owner keeps it on one thread.
struct Backoff {
    /// Somebody waits for the link: a server that is there again is found within two seconds.
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
