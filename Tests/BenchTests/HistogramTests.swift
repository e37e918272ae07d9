import TestSupport
import Testing

@testable import Bench

/// The quantiles that are published, against the same taken from the sorted values.
@Suite struct HistogramTests {
    @Test(arguments: 0..<50) func aQuantileIsWithinTwoPercentOfTheExactOne(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let ceiling = 1 << Int.random(in: 1...40, using: &random)
        let values = (0..<1000).map { _ in Int.random(in: 0..<ceiling, using: &random) }
        var histogram = Histogram()
        for value in values { histogram.record(value) }
        let sorted = values.sorted()
        for part in [0.001, 0.5, 0.9, 0.99, 1] {
            let exact = sorted[Int((part * 1000).rounded(.up)) - 1]
            let told = histogram.quantile(part)
            #expect(told >= exact, "seed \(seed)")
            #expect(Double(told) <= Double(exact) * 1.02, "seed \(seed)")
        }
        #expect(histogram.largest == sorted.last)
        #expect(histogram.count == values.count)
    }

    @Test func theLongestSpanHasABucket() {
        var histogram = Histogram()
        histogram.record(.max)
        #expect(histogram.quantile(0.5) == .max)
    }
}
