import Chat
import TestSupport
import Testing

/// `findBoundaries` in all its forms, and the distance between messages.
@Suite struct BoundaryTests {
    private static func pairs(_ list: [Message]) -> [[Int?]] {
        let found = findBoundaryMessages(ofMessageList: list)
        return found.map { [$0.newest.seq, $0.oldest.seq] }
    }

    private static func positions(_ list: [Message]) -> [[Int]] {
        let found = findBoundaries(ofMessageList: list)
        return found.map { [$0.0, $0.1] }
    }

    @Test func aListWithoutAGapHasOneBoundary() {
        // The design's example: A is the newest, Z the oldest.
        let list = messages((1...26).reversed())
        #expect(Self.pairs(list) == [[26, 1]])
        #expect(Self.positions(list) == [[0, 25]])
    }

    @Test func aGapMakesTwoBoundariesNewestFirst() {
        let list = messages([26, 25, 24, 23, 20, 19, 18])
        #expect(Self.pairs(list) == [[26, 23], [20, 18]])
        #expect(Self.positions(list) == [[0, 3], [4, 6]])
        #expect(Self.pairs(list.reversed()) == [[26, 23], [20, 18]])
        #expect(Self.positions(list.reversed()) == [[6, 3], [2, 0]])
    }

    @Test func smallAndOddListsAreAnswered() {
        #expect(Self.positions([]).isEmpty)
        #expect(Self.positions(messages([7])) == [[0, 0]])
        #expect(Self.positions(messages([3, 1, 2, 9])) == [[3, 3], [0, 1]])
        #expect(Self.positions(messages([1, 2, 2, 1])) == [[1, 0]])
        #expect(Self.positions(messages([2, 2, 3, 1])) == [[2, 3]])
        #expect(Self.positions(messages([1, 3]).map(\.tombstone)) == [[1, 1], [0, 0]])
    }

    @Test func aMessageWithoutAPlaceBelongsToNoRun() {
        let list = messages([4, 5]) + [.unnumbered("sending", at: 9)]
        #expect(Self.positions(list) == [[1, 0]])
        #expect(Self.positions([.unnumbered("sending", at: 9)]).isEmpty)
    }

    @Test func bothFormsAgreeWithTheCoverageOfTheList() throws {
        for seed in UInt64(1)...2_000 {
            var generator = SplitMix64(seed: seed)
            let places = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
                Int.random(in: 1...25, using: &generator)
            }
            let list = messages(places)
            let runs = Coverage(places: places).runs.reversed()
            try #require(Self.pairs(list) == runs.map { [$0.high, $0.low] }, "seed \(seed)")
            let positions = Self.positions(list)
            try #require(positions.map { $0.map { places[$0] } } == runs.map { [$0.high, $0.low] })
            try #require(
                positions.joined().allSatisfy { places.firstIndex(of: places[$0]) == $0 },
                "seed \(seed)")
            let found = findBoundaries(of: list, coverage: Coverage(places: places))
            try #require(
                found.map { [$0.newest.seq, $0.oldest.seq] } == runs.map { [$0.high, $0.low] },
                "seed \(seed)")
        }
    }

    @Test func coverageTellsRunsWhateverTheNumbering() {
        // Numbers with holes in them: only the coverage knows that 10 follows 3.
        let list = messages([3, 10, 17, 40, 44])
        let found = findBoundaries(of: list, coverage: [[1, 12], [15, 16], [17, 20], [35, 50]])
        #expect(
            found == [
                Boundary(newest: .init(id: "m44", seq: 44), oldest: .init(id: "m40", seq: 40)),
                Boundary(newest: .init(id: "m17", seq: 17), oldest: .init(id: "m17", seq: 17)),
                Boundary(newest: .init(id: "m10", seq: 10), oldest: .init(id: "m3", seq: 3)),
            ])
        #expect(findBoundaries(of: list, coverage: [[11, 16]]).isEmpty)
        #expect(findBoundaries(of: list, coverage: Coverage()).isEmpty)
        #expect(findBoundaries(of: [.unnumbered("x", at: 1)], coverage: [[1, 50]]).isEmpty)
    }

    @Test func distanceCountsPlaces() {
        let three = Message.numbered(3)
        #expect(distance(from: three, to: .numbered(4)) == 1)
        #expect(distance(from: three, to: three) == 0)
        #expect(distance(from: three, to: .numbered(1)) == -2)
        #expect(distance(from: three, to: .unnumbered("x", at: 4)) == nil)
        var elsewhere = Message.numbered(4)
        elsewhere.conversation = "d"
        #expect(distance(from: three, to: elsewhere) == nil)
    }
}
