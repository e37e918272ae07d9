import TestSupport
import Testing

/// The tests' own interval set against sets of integers.
@Suite struct IntervalsTests {
    @Test func followsASetOfIntegers() throws {
        for seed in UInt64(1)...300 {
            var random = SplitMix64(seed: seed)
            var intervals = Intervals()
            var model: Set<Int> = []
            for _ in 0..<30 {
                let low = Int.random(in: 1...40, using: &random)
                let range = low...(low + Int.random(in: 0...8, using: &random))
                if Bool.random(using: &random) {
                    intervals.insert(range)
                    model.formUnion(range)
                } else {
                    intervals.remove(range)
                    model.subtract(range)
                }
                #expect(intervals.ranges.flatMap { $0 } == model.sorted(), "seed \(seed)")
                #expect((0...50).filter(intervals.contains) == model.sorted(), "seed \(seed)")
                // Reading it back checks that the form is normal.
                #expect(try Intervals(intervals.json) == intervals, "seed \(seed)")
            }
        }
    }

    static let malformed: [JSONValue] = [
        [[2, 1]], [[1, 2], [3, 4]], [[5, 6], [1, 2]], [[1, 5], [3, 8]], [[1]], [1],
    ]

    @Test(arguments: malformed) func whatIsNotInNormalFormIsRefused(_ value: JSONValue) {
        #expect(throws: TestFailure.self) { try Intervals(value) }
    }
}
