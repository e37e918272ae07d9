import TestSupport
import Testing

@testable import Bench

/// The drills' sets of places, against sets of single places.
@Suite struct SlotsTests {
    @Test(arguments: 0..<100) func whatIsPutInAndTakenOutIsThere(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var slots = Slots()
        var model: Set<Int> = []
        for _ in 0..<60 {
            let low = Int.random(in: 1...40, using: &random)
            let range = low...(low + Int.random(in: 0...8, using: &random))
            if Int.random(in: 0..<3, using: &random) > 0 {
                slots.insert(range)
                model.formUnion(range)
            } else {
                slots.remove(range)
                model.subtract(range)
            }
            #expect(slots.ranges.flatMap(Array.init) == model.sorted(), "seed \(seed)")
            #expect(slots.count == model.count)
            let isApart = zip(slots.ranges, slots.ranges.dropFirst()).allSatisfy {
                $0.upperBound + 1 < $1.lowerBound
            }
            #expect(isApart, "seed \(seed)")
            for low in stride(from: 1, to: 45, by: 3) {
                #expect(slots.contains(low...(low + 2)) == model.isSuperset(of: low...(low + 2)))
            }
        }
    }

    @Test func ofTwoSetsTheyMakeUnionAndDifference() {
        var slots = Slots([1...3, 7...9])
        slots.formUnion(Slots([4...4, 20...21]))
        #expect(slots.ranges == [1...4, 7...9, 20...21])
        slots.subtract(Slots([2...7, 21...30]))
        #expect(slots.ranges == [1...1, 8...9, 20...20])
    }
}
