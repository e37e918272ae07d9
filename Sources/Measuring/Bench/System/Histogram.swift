/// Latencies of any size, each kept to within 1.6 %: 64 buckets for each doubling. Recording
/// is a few instructions, as there is one for each delivery.
package struct Histogram: Sendable {
    private static let bits = 6
    private var counts = [Int](repeating: 0, count: 58 << 6)
    private(set) var count = 0
    private(set) var largest: Nanoseconds = 0

    package init() {}

    package mutating func record(_ value: Nanoseconds) {
        let value = max(0, value)
        counts[Self.bucket(of: value)] += 1
        count += 1
        largest = max(largest, value)
    }

    /// The value that `part` of all values do not exceed; 0 without values.
    package func quantile(_ part: Double) -> Nanoseconds {
        let rank = Int((part * Double(count)).rounded(.up))
        var seen = 0
        for bucket in counts.indices where counts[bucket] > 0 {
            seen += counts[bucket]
            if seen >= rank { return min(Self.top(of: bucket), largest) }
        }
        return 0
    }

    private static func bucket(of value: Int) -> Int {
        let exponent = max(0, Int.bitWidth - value.leadingZeroBitCount - bits - 1)
        return exponent << bits + value >> exponent
    }

    /// The largest value of a bucket. Values below `1 << bits` have a bucket each; every further
    /// doubling has `1 << bits` buckets.
    private static func top(of bucket: Int) -> Int {
        let exponent = max(0, bucket >> bits - 1)
        return (bucket - exponent << bits) << exponent | (1 << exponent - 1)
    }
}
