import Foundation
import JSON
import TestSupport
import Testing

/// Random values and random damage, judged by Foundation's reader as well.
@Suite struct RandomValueTests {
    @Test func readsWhatFoundationReads() throws {
        for seed in UInt64(1)...3000 {
            var generator = RandomJSON(seed: seed)
            let text = generator.text(depth: 4)
            let bytes = Array(text.utf8)
            let value = try #require(try? RawJSON(bytes), "seed \(seed)")
            let expected = try JSONSerialization.jsonObject(
                with: Data(bytes), options: .fragmentsAllowed)
            #expect(Self.isSame(value, expected), "seed \(seed)")
            if let object = value.object {
                let inPlace = try JSONObject(inPlace: bytes)
                #expect(Self.isSame(inPlace, object), "seed \(seed)")
                for name in object.members.map(\.key) + ["no name of it is so"] {
                    let (whole, opened) = try JSONObject.inPlace(bytes, opening: name)
                    #expect(Self.isSame(whole, object), "seed \(seed)")
                    let member = object[name]?.object
                    #expect(
                        opened == nil && member == nil || Self.isSameObject(opened, member),
                        "seed \(seed)")
                }
            }
            let canonical = value.canonical()
            let again = try #require(try? RawJSON(canonical), "seed \(seed)")
            #expect(Self.isSame(again, expected), "seed \(seed)")
            #expect(again.canonical() == canonical, "seed \(seed)")
        }
    }

    @Test func acceptsNothingThatFoundationRefuses() throws {
        var accepted = 0
        for seed in UInt64(1)...20_000 {
            var generator = RandomJSON(seed: seed)
            var bytes = Array(generator.text(depth: 3).utf8)
            for _ in 0...Int.random(in: 0...2, using: &generator.random) {
                generator.damage(&bytes)
            }
            let value = try? RawJSON(bytes)
            if let value, Self.isWithinDoubles(value) {
                accepted += 1
                let foundation = try? JSONSerialization.jsonObject(
                    with: Data(bytes), options: .fragmentsAllowed)
                #expect(foundation != nil, "seed \(seed)")
            }
            // An object is read by another way over the same scanner: the two must agree.
            let isObject = value?.kind == .object
            #expect(((try? JSONObject(bytes)) != nil) == isObject, "seed \(seed)")
            #expect(((try? JSONObject(inPlace: bytes)) != nil) == isObject, "seed \(seed)")
        }
        #expect(accepted > 500, "too few survive the damage to show anything")
    }

    /// Whether an object whose members stay in its text says the same as one that has copied them.
    private static func isSame(_ inPlace: JSONObject, _ object: JSONObject) -> Bool {
        let names = Set(object.members.prefix(2).map(\.key))
        return inPlace.members == object.members
            && inPlace.members(except: names) == object.members(except: names)
            && inPlace.slice("no name of it is so") == nil
            && object.members.allSatisfy { member in
                guard let slice = inPlace.slice(member.key), let value = object[member.key]
                else { return false }
                return slice.raw == value && slice.kind == value.kind
                    && slice.string == value.string && slice.bool == value.bool
                    && slice.int == value.int && slice.isNull == value.isNull
                    && isSameObject(slice.object, value.object)
                    && hasElements(slice, value.array) && hasElements(value.slice, value.array)
            }
    }

    private static func hasElements(_ slice: JSONSlice, _ array: [RawJSON]?) -> Bool {
        var elements: [RawJSON] = []
        var counts: [Int?] = []
        slice.visit {
            elements.append($0.raw)
            counts.append($0.count)
        }
        return slice.count == array?.count && elements == array ?? []
            && counts == elements.map { $0.array?.count }
    }

    private static func isSameObject(_ inPlace: JSONObject?, _ object: JSONObject?) -> Bool {
        guard let inPlace, let object else { return inPlace == nil && object == nil }
        return isSame(inPlace, object)
    }

    /// Foundation refuses a number that no double comes near; the grammar does not.
    private static func isWithinDoubles(_ value: RawJSON) -> Bool {
        switch value.kind {
        case .number: value.double != nil
        case .array: value.array?.allSatisfy(isWithinDoubles) ?? false
        case .object: value.object?.members.allSatisfy { isWithinDoubles($0.value) } ?? false
        case .null, .bool, .string: true
        }
    }

    private static func isSame(_ value: RawJSON, _ expected: Any) -> Bool {
        switch value.kind {
        case .null: return expected is NSNull
        case .bool: return (expected as? Bool) == value.bool
        case .string:
            guard let string = expected as? String, let own = value.string else { return false }
            return string.utf8.elementsEqual(own.utf8)
        case .number:
            guard let number = expected as? NSNumber else { return false }
            if let int = value.int { return number.doubleValue == Double(int) }
            return number.doubleValue == value.double
        case .array:
            guard let expected = expected as? [Any], let own = value.array else { return false }
            return expected.count == own.count
                && zip(own, expected).allSatisfy { isSame($0, $1) }
        case .object:
            guard let expected = expected as? [String: Any], let own = value.object else {
                return false
            }
            return expected.count == own.members(except: []).count
                && expected.allSatisfy { key, value in
                    own[key].map { isSame($0, value) } ?? false
                }
        }
    }
}

/// Writes a random JSON text in a random style.
private struct RandomJSON {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func pick<T>(_ choices: [T]) -> T {
        choices[Int.random(in: 0..<choices.count, using: &random)]
    }

    mutating func text(depth: Int) -> String {
        let body =
            switch Int.random(in: 0...(depth > 0 ? 7 : 5), using: &random) {
            case 0: pick(["null", "true", "false"])
            case 1, 2: number()
            case 3, 4, 5: string()
            case 6: list(depth, "[", "]") { $0.text(depth: depth - 1) }
            default:
                list(depth, "{", "}") {
                    "\($0.string())\($0.space()):\($0.text(depth: depth - 1))"
                }
            }
        return space() + body + space()
    }

    private mutating func list(
        _ depth: Int, _ open: String, _ close: String, _ element: (inout RandomJSON) -> String
    ) -> String {
        let count = Int.random(in: 0...5, using: &random)
        let elements = (0..<count).map { _ in element(&self) }
        return open + (elements.isEmpty ? space() : "")
            + elements.map { space() + $0 }.joined(separator: ",") + close
    }

    private mutating func space() -> String { pick(["", "", "", " ", "\n", "\t\r "]) }

    private mutating func number() -> String {
        let whole = pick(["0", "-0", "7", "-12", "1234567", "90071992547"])
        return whole + pick(["", "", ".0", ".25", ".125"]) + pick(["", "", "e2", "E+1", "e-2"])
    }

    private mutating func string() -> String {
        let pieces = [
            "a", "word", "a longer piece of text", "é", "日本", "😀", " ", "\\n", "\\\"", "\\\\",
            "\\/", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\u0001", "\u{7F}", "e\u{301}",
        ]
        let count = Int.random(in: 0...6, using: &random)
        return "\"" + (0..<count).map { _ in pick(pieces) }.joined() + "\""
    }

    /// Changes, drops, doubles or inserts one byte.
    mutating func damage(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0...3, using: &random) {
        case 0: bytes.remove(at: at)
        case 1: bytes.insert(bytes[at], at: at)
        case 2: bytes[at] = UInt8.random(in: 0...255, using: &random)
        default: bytes.insert(pick(Array("{}[]\",:\\0-.eu \u{1}".utf8)), at: at)
        }
    }
}
