import JSON
import TestSupport
import Testing

/// Arrays of pairs have a reader of their own, which must never see another text than the general
/// one does.
@Suite struct IntegerPairTests {
    /// What the general reader makes of an array of pairs of integers.
    private static func pairs(_ value: RawJSON) -> [[Int]]? {
        guard let elements = value.array else { return nil }
        var pairs: [[Int]] = []
        for element in elements {
            guard let ends = element.array, ends.count == 2, let first = ends[0].int,
                let second = ends[1].int
            else { return nil }
            pairs.append([first, second])
        }
        return pairs
    }

    private static func quickly(_ value: RawJSON) -> [[Int]]? {
        value.integerPairs.map { $0.map { [$0.first, $0.second] } }
    }

    @Test(arguments: [
        ("[]", []), ("[[1,50],[80,96]]", [[1, 50], [80, 96]]),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("[[0,0]]", [[0, 0]]), ("[[9,1]]", [[9, 1]]),
        (
            "[[9999999999999999,9007199254740991]]",
            [[9_999_999_999_999_999, 9_007_199_254_740_991]]
        ),
    ])
    func readsWhatIsWrittenAsUsual(text: String, expected: [[Int]]) throws {
        let value = try RawJSON(Array(text.utf8))
        #expect(Self.quickly(value) == expected)
        #expect(Self.pairs(value) == expected)
    }

    @Test(arguments: [
        "[[1,2]", "[[1,2],]", "[[1,2]]]", "[[01,2]]", "[[1,02]]", "[[1,2][3,4]]", "[[1,2],,[3,4]]",
        "[,[1,2]]", "[[,2]]", "[[1,]]", "[[1,2] ,", "[[1,2],[3,4}]",
    ])
    func refusesWhatIsNoJSON(text: String) {
        #expect(throws: JSONError.self) { try RawJSON(Array(text.utf8)) }
        #expect(RawJSON(unchecked: Array(text.utf8)).integerPairs == nil)
    }

    @Test(arguments: [
        "[1,2]", "[[1]]", "[[1,2,3]]", "[[1,2],3]", "[[1,2],[]]", "[[1.0,2]]", "[[1e1,20]]",
        "[[-1,2]]", "[[1,10000000000000000]]", "[[1,  2]]", "[[1,2],  [3,4]]", "[ [1,2]]",
        "[[[1,2],[3,4]]]", "{}", "null", "7", #"["1","2"]"#, #"[["1",2]]"#,
    ])
    func leavesTheRestToTheGeneralReader(text: String) throws {
        #expect(try RawJSON(Array(text.utf8)).integerPairs == nil)
    }

    /// Random pairs, in random styles and with random damage: what is read quickly is JSON, and is
    /// read so by the general reader too.
    @Test func neverSeesAnythingElse() throws {
        var read = 0
        var valid = 0
        for seed in UInt64(1)...60_000 {
            var random = SplitMix64(seed: seed)
            let text = Self.damaged(Self.text(&random), &random)
            let quick = Self.quickly(RawJSON(unchecked: text))
            let value = try? RawJSON(text)
            if value != nil { valid += 1 }
            guard let quick else { continue }
            read += 1
            guard let value, Self.pairs(value) == quick else {
                Issue.record("seed \(seed): \(String(decoding: text, as: UTF8.self))")
                return
            }
        }
        #expect(read > 10_000 && valid > read, "\(read) read quickly, \(valid) valid")
    }

    /// The scanner steps over pairs by the same reader. A space in front of each bracket keeps it
    /// from that; the two texts must be JSON both or neither.
    @Test func theScannerSeesNothingElseEither() throws {
        for seed in UInt64(1)...60_000 {
            var random = SplitMix64(seed: seed)
            let text = Self.damaged(Self.text(&random), &random)
            let spaced = text.flatMap { $0 == UInt8(ascii: "[") ? [0x5B, 0x20, 0x20] : [$0] }
            let isValid = (try? RawJSON(text)) != nil
            #expect(isValid == ((try? RawJSON(spaced)) != nil), "seed \(seed)")
        }
    }

    @Test func pairsLieNoDeeperThanAnythingElse() throws {
        for (depth, isValid) in [(63, true), (64, false)] {
            let open = String(repeating: "[", count: depth)
            let close = String(repeating: "]", count: depth)
            let text = Array("\(open)[1,2],[3,4]\(close)".utf8)
            #expect(((try? RawJSON(text)) != nil) == isValid)
        }
    }

    // MARK: - Random texts

    private static func text(_ random: inout SplitMix64) -> [UInt8] {
        let pairs = (0..<Int.random(in: 0...6, using: &random)).map { _ in
            "[\(number(&random)),\(space(&random))\(number(&random))]"
        }
        let comma = "," + space(&random)
        return Array("[\(pairs.joined(separator: comma))]".utf8)
    }

    private static func space(_ random: inout SplitMix64) -> String {
        switch Int.random(in: 0...9, using: &random) {
        case 0: " "
        case 1: Bool.random(using: &random) ? "  " : "\n"
        default: ""
        }
    }

    private static func number(_ random: inout SplitMix64) -> String {
        switch Int.random(in: 0...9, using: &random) {
        case 0:
            ["0", "-7", "1.5", "2e3", "9007199254740993", "12345678901234567"][
                Int.random(in: 0...5, using: &random)]
        default: String(Int.random(in: 0...100_000, using: &random))
        }
    }

    /// In half of the texts one byte is another, is missing, or is there twice.
    private static func damaged(_ text: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var text = text
        let at = Int.random(in: 0..<text.count, using: &random)
        let bytes = Array("[],0129- .e".utf8)
        switch Int.random(in: 0...5, using: &random) {
        case 0: text.remove(at: at)
        case 1: text.insert(text[at], at: at)
        case 2: text[at] = bytes[Int.random(in: 0..<bytes.count, using: &random)]
        default: break
        }
        return text
    }
}
