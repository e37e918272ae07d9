/// How long to wait before the next try: doubling from `base` to `limit` milliseconds, of which a
/// random half is taken off, so that clients that lost the same gateway do not come back together.
struct Backoff: Sendable {
    private let base: Int64
    private let limit: Int64
    private var tries = 0

    init(base: Int64 = 500, limit: Int64 = 30_000) {
        self.base = base
        self.limit = limit
    }

    /// The next wait, in milliseconds.
    /// - Parameter random: from 0 up to, not including, 1.
    mutating func next(_ random: Double) -> Int64 {
        let full = min(limit, base << Int64(min(tries, 20)))
        tries += 1
        return Int64(Double(full) * (0.5 + random / 2))
    }

    /// Begins again at `base`: something succeeded.
    mutating func reset() { tries = 0 }

    /// Goes on at `limit`: the other side asked for patience.
    mutating func exhaust() { tries = 20 }
}
