import Chat
import Testing
import TestSupport

/// `Coverage` against the plainest model of it, a set of integers.
@Suite struct CoverageTests {
    /// The places that the random cases use; small, so that runs often meet.
    private static let places = 0..<40

    /// A coverage built by random insertions and removals, and the same places as a set.
    private static func random(_ generator: inout SplitMix64) -> (Coverage, Set<Int>) {
        var coverage = Coverage()
        var model: Set<Int> = []
        for _ in 0..<Int.random(in: 0...8, using: &generator) {
            let (low, high) = interval(&generator)
            if Int.random(in: 0..<4, using: &generator) == 0 {
                coverage.remove(low, high)
                model.subtract(set(low, high))
            } else {
                coverage.insert(low, high)
                model.formUnion(set(low, high))
            }
        }
        return (coverage, model)
    }

    /// Two random places; in one of eight cases the wrong way round, which is an empty interval.
    private static func interval(_ generator: inout SplitMix64) -> (Int, Int) {
        let low = Int.random(in: places, using: &generator)
        let length = Int.random(in: 0..<8, using: &generator)
        return (low, length == 7 ? low - 1 : min(low + length, places.upperBound - 1))
    }

    private static func set(_ low: Int, _ high: Int) -> Set<Int> {
        low <= high ? Set(low...high) : []
    }

    private static func places(of coverage: Coverage) -> Set<Int> {
        Set(coverage.runs.flatMap { $0.low...$0.high })
    }

    private static func isNormal(_ coverage: Coverage) -> Bool {
        coverage.runs.allSatisfy { $0.low <= $0.high }
            && zip(coverage.runs, coverage.runs.dropFirst()).allSatisfy { $0.high + 1 < $1.low }
    }

    @Test func insertionsAndRemovalsAgreeWithASet() throws {
        for seed in UInt64(1)...10_000 {
            var generator = SplitMix64(seed: seed)
            let (coverage, model) = Self.random(&generator)
            try #require(Self.isNormal(coverage), "seed \(seed)")
            try #require(Self.places(of: coverage) == model, "seed \(seed)")
            try #require(coverage.count == model.count, "seed \(seed)")
            try #require(coverage.first == model.min(), "seed \(seed)")
            try #require(coverage.last == model.max(), "seed \(seed)")
            try #require(Coverage(places: model) == coverage, "seed \(seed)")
            let shuffled = coverage.runs.shuffled(using: &generator)
            try #require(Coverage(shuffled) == coverage, "seed \(seed)")
        }
    }

    @Test func theAlgebraAgreesWithSets() throws {
        for seed in UInt64(1)...10_000 {
            var generator = SplitMix64(seed: seed)
            let (a, modelA) = Self.random(&generator)
            let (b, modelB) = Self.random(&generator)
            let (low, high) = Self.interval(&generator)
            let clip = Self.set(low, high)
            let pairs = [
                (a.union(b), modelA.union(modelB)),
                (a.intersection(b), modelA.intersection(modelB)),
                (a.subtracting(b), modelA.subtracting(modelB)),
                (a.clipped(low, high), modelA.intersection(clip)),
            ]
            for (at, (coverage, model)) in pairs.enumerated() {
                try #require(Self.isNormal(coverage), "seed \(seed), operation \(at)")
                try #require(Self.places(of: coverage) == model, "seed \(seed), operation \(at)")
            }
            try #require(a.contains(b) == modelB.isSubset(of: modelA), "seed \(seed)")
            try #require(a.contains(low, high) == clip.isSubset(of: modelA), "seed \(seed)")
        }
    }

    @Test func lookingUpAgreesWithASet() throws {
        for seed in UInt64(1)...2_000 {
            var generator = SplitMix64(seed: seed)
            let (coverage, model) = Self.random(&generator)
            for place in Self.places {
                try #require(coverage.contains(place) == model.contains(place), "seed \(seed)")
                let run = coverage.run(at: place)
                try #require((run != nil) == model.contains(place), "seed \(seed)")
                if let run { try #require(run.contains(place), "seed \(seed)") }
            }
            let span = Self.set(model.min() ?? 0, model.max() ?? -1)
            try #require(Self.places(of: coverage.holes) == span.subtracting(model), "seed \(seed)")
            try #require(coverage.holes.union(coverage).runs.count <= 1, "seed \(seed)")
        }
    }

    @Test func coarseningGivesTheSmallestSupersetOfAtMostSoManyRuns() throws {
        for seed in UInt64(1)...10_000 {
            var generator = SplitMix64(seed: seed)
            let (coverage, _) = Self.random(&generator)
            let limit = Int.random(in: 1...4, using: &generator)
            let coarse = coverage.coarsened(to: limit)
            try #require(Self.isNormal(coarse), "seed \(seed)")
            try #require(coarse.contains(coverage), "seed \(seed)")
            try #require(coarse.runs.count == min(limit, coverage.runs.count), "seed \(seed)")
            let distances = coverage.holes.runs.map(\.count).sorted()
            let joined = distances.prefix(max(0, coverage.runs.count - limit))
            try #require(coarse.count == coverage.count + joined.reduce(0, +), "seed \(seed)")
        }
    }

    @Test func adjacentRunsJoinAndSeparateOnesStay() {
        #expect(Coverage([.init(4, 6), .init(1, 3)]) == [[1, 6]])
        #expect(Coverage([.init(5, 6), .init(1, 3)]) == [[1, 3], [5, 6]])
        var coverage: Coverage = [[1, 3], [7, 9]]
        coverage.insert(4, 6)
        #expect(coverage == [[1, 9]])
        coverage.remove(5, 5)
        #expect(coverage == [[1, 4], [6, 9]])
    }

    @Test func anEmptyIntervalChangesNothingAndIsAlwaysHeld() {
        var coverage: Coverage = [[3, 5]]
        coverage.insert(9, 8)
        coverage.remove(5, 4)
        #expect(coverage == [[3, 5]])
        #expect(coverage.contains(9, 8))
        #expect(coverage.clipped(4, 3).isEmpty)
    }

    /// What somebody else wrote stops no process.
    @Test func whatIsNoIntervalIsTakenForNone() {
        #expect(Coverage.Run(checking: 3, 2) == nil)
        #expect(Coverage.Run(checking: -1, 2) == nil)
        #expect(Coverage.Run(checking: 1, 1 << 53) == nil)
        #expect(Coverage.Run(checking: 0, (1 << 53) - 1)?.count == 1 << 53)
        #expect(Coverage(5, 3).isEmpty)
        #expect(Coverage(ascending: [.init(5, 9), .init(1, 2), .init(3, 6)]) == [[1, 9]])
        #expect(Coverage([.init(1, 2), .init(8, 9)]).coarsened(to: 0) == [[1, 9]])
    }

    @Test func itIsWrittenAsTheProtocolWritesIt() {
        #expect(Coverage().description == "[]")
        #expect(Coverage([.init(1, 50), .init(80, 96)]).description == "[[1,50],[80,96]]")
    }
}
