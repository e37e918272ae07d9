import JSON
import TestSupport
import Testing

/// What is counted in a text without building it is what would be built.
@Suite struct MemberTallyTests {
    /// Objects with names that come twice, with escapes and of any length, and values of any depth.
    private struct RandomObject {
        var random: SplitMix64

        mutating func one(_ words: [String]) -> String {
            words.randomElement(using: &random) ?? ""
        }

        mutating func name() -> String {
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                one([#"\u0061"#, "a", "é", "e\u{301}", #"\u00e9"#, "", #"a\n"#, #"\ud83d\ude00"#])
            case 1:
                String(repeating: one(["n", "é"]), count: Int.random(in: 1...40, using: &random))
            case 2: one(["body", "id", #"b\u006fdy"#, "title"])
            default: "field\(Int.random(in: 0..<60, using: &random))"
            }
        }

        mutating func value(_ depth: Int) -> String {
            guard depth > 0, Int.random(in: 0..<3, using: &random) == 0 else {
                return one(["null", "1", "-2.50", "true", #""t""#, #""[[\"{""#, "[]", "{ }", "{}"])
            }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return "[[1,2],[3, 4],[5,6]]"
            case 1: return one(["[[1,2],[[3]]]", "[[1,2],7]"])
            case 2: return "[ \(value(depth - 1)) , \(value(depth - 1))]"
            default: return #"{"\#(name())": \#(value(depth - 1)) }"#
            }
        }

        mutating func members() -> [(name: String, value: String)] {
            (0..<Int.random(in: 0...80, using: &random)).map { _ in (name(), value(4)) }
        }
    }

    private static func text(_ members: [(name: String, value: String)]) -> [UInt8] {
        Array("{\(members.map { #""\#($0.name)": \#($0.value)"# }.joined(separator: ","))}".utf8)
    }

    /// How deep a value nests, by its parts.
    private static func levels(_ value: RawJSON) -> Int {
        let inner = value.array ?? value.object?.members.map(\.value)
        return inner.map { 1 + ($0.map(levels).max() ?? 0) } ?? 0
    }

    private static func tally(_ members: [JSONMember]) -> MemberTally {
        MemberTally(
            count: members.count,
            size: members.reduce(0) { $0 + $1.key.utf8.count + $1.value.bytes.count },
            levels: members.map { levels($0.value) }.max() ?? 0)
    }

    private static func merged(_ base: [JSONMember], _ others: [JSONMember]) -> [JSONMember] {
        let names = others.map { Array($0.key.utf8) }
        return base.filter { !names.contains(Array($0.key.utf8)) }
            + others.filter { !$0.value.isNull }
    }

    @Test func membersAreCountedWhereTheyLie() throws {
        var most = MemberTally()
        for seed in UInt64(1)...1000 {
            var generator = RandomObject(random: SplitMix64(seed: seed))
            let text = Self.text(generator.members())
            let inPlace = try JSONObject(inPlace: text)
            let built = try JSONObject(text)
            #expect(inPlace.length == built.members.count && built.length == inPlace.length)
            for names in [[], ["body", "id", "title"], ["a", "field7"]] as [Set<String>] {
                let expected = Self.tally(built.members(except: names))
                #expect(inPlace.tally(except: names) == expected, "seed \(seed)")
                #expect(built.tally(except: names) == expected, "seed \(seed)")
                most.count = max(most.count, expected.count)
                most.levels = max(most.levels, expected.levels)
            }
        }
        #expect(most.count > 30 && most.levels > 4)
    }

    @Test func whatIsMergedIsCountedWithoutMerging() throws {
        var (replaced, taken) = (0, 0)
        for seed in UInt64(1)...1000 {
            var generator = RandomObject(random: SplitMix64(seed: seed))
            let base = try JSONObject(Self.text(generator.members())).members(except: ["id"])
            let object = try JSONObject(inPlace: Self.text(generator.members()))
            let names: Set<String> = ["body", "field3"]
            let others = object.members(except: names)
            let merged = Self.merged(base, others)
            #expect(
                object.tally(except: names, mergedInto: base) == Self.tally(merged), "seed \(seed)")
            replaced += base.count + others.count - merged.count
            taken += others.count { $0.value.isNull }
        }
        #expect(replaced > 1000 && taken > 1000)
    }

    @Test func lengthAndDepthOfAValueAreKnownWithoutBuildingIt() throws {
        for seed in UInt64(1)...1000 {
            var generator = RandomObject(random: SplitMix64(seed: seed))
            let members = generator.members()
            let object = try JSONObject(inPlace: Self.text(members))
            let whole = try RawJSON(Self.text(members))
            #expect(whole.slice.levels == Self.levels(whole), "seed \(seed)")
            for member in object.members {
                let slice = try #require(object.slice(member.key))
                let value = slice.raw
                #expect(slice.levels == Self.levels(value), "seed \(seed)")
                #expect(value.slice.levels == slice.levels, "seed \(seed)")
            }
            for (name, _) in members {
                let string = try RawJSON(Array(#""\#(name)""#.utf8)).slice
                #expect(string.stringLength == string.string?.utf8.count, "seed \(seed)")
                for bytes in 0..<50 where string.isSurelyLonger(than: bytes) {
                    #expect(try #require(string.stringLength) > bytes, "seed \(seed)")
                }
            }
        }
        #expect(RawJSON(int: 7).slice.stringLength == nil)
        let long = RawJSON(string: String(repeating: "\u{1}", count: 10))
        #expect(long.slice.isSurelyLonger(than: 9) && !long.slice.isSurelyLonger(than: 10))
    }

    /// A member that is opened nests as deep as it does.
    @Test func anOpenedMemberHasItsDepth() throws {
        let text = Array(#"{"a":[],"params":{"b":[[[1]]],"c":1},"d":[{}]}"#.utf8)
        let (whole, opened) = try JSONObject.inPlace(text, opening: "params")
        #expect(["a", "params", "d"].map { whole.slice($0)?.levels } == [1, 4, 2])
        #expect(["b", "c"].map { opened?.slice($0)?.levels } == [3, 0])
    }
}
