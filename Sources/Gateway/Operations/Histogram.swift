/// A histogram of durations, as Prometheus reads it. All histograms here have the same buckets,
/// which never change: from a turn on an idle machine to what nobody waits for. A value; its owner
/// measures.
struct Histogram: Sendable, Hashable {
    /// The upper bounds: as labels, and in nanoseconds. Above the last there is `+Inf`.
    static let bounds: [(label: String, nanoseconds: Int64)] = [
        ("0.0001", 100_000), ("0.00025", 250_000), ("0.0005", 500_000), ("0.001", 1_000_000),
        ("0.0025", 2_500_000), ("0.005", 5_000_000), ("0.01", 10_000_000),
        ("0.025", 25_000_000), ("0.05", 50_000_000), ("0.1", 100_000_000),
        ("0.25", 250_000_000), ("0.5", 500_000_000), ("1", 1_000_000_000),
        ("2.5", 2_500_000_000), ("5", 5_000_000_000), ("10", 10_000_000_000),
    ]

    /// Counts per bucket, not cumulative; the last bucket has no bound.
    private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    private var nanoseconds: Int64 = 0

    /// The number of observations.
    var count: Int { counts.reduce(0, +) }
    /// The sum of the observations, in seconds.
    var sum: Double { Double(nanoseconds) / 1e9 }

    /// Adds one observation, or several of the same duration.
    mutating func observe(_ duration: Duration, times: Int = 1) {
        let (seconds, attoseconds) = duration.components
        let taken = max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        let bucket = Self.bounds.firstIndex { taken <= $0.nanoseconds } ?? Self.bounds.count
        counts[bucket] += times
        nanoseconds += taken * Int64(times)
    }
}
