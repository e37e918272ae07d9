@testable import Configuration
import Testing
import TestSupport

@Suite struct JSON5ReaderTests {
    private func settings(_ text: String) throws -> [Setting] {
        try JSON5Reader.settings(of: Array(text.utf8), path: "f")
    }

    /// The one value of `{a: …}`.
    private func value(_ text: String) throws -> SettingValue? {
        try settings("{a: \(text)}").first?.value
    }

    @Test func objectsBecomeDottedKeysWithTheirLines() throws {
        let text = """
            // first
            {
              a: 1, /* two
              lines */ 'b': {
                "c": true, $d_1: [],
                e: { f: "x", },
              },
            }
            """
        #expect(
            try settings(text) == [
                Setting(key: "a", value: .number("1"), place: .file("f", line: 3)),
                Setting(key: "b.c", value: .bool(true), place: .file("f", line: 5)),
                Setting(key: "b.$d_1", value: .list([]), place: .file("f", line: 5)),
                Setting(key: "b.e.f", value: .string("x"), place: .file("f", line: 6)),
            ])
    }

    @Test(arguments: [
        ("'it is \"so\"'", "it is \"so\""), (#""\u0041\x42\n\t\\\"\'\q""#, "AB\n\t\\\"'q"),
        ("'one \\\n line'", "one  line"), ("\"né\"", "né"), ("''", ""),
    ])
    func aTextHasEscapes(_ text: String, _ expected: String) throws {
        #expect(try value(text) == .string(expected))
    }

    @Test(arguments: [
        ("0", "0"), ("-12", "-12"), ("+7", "7"), ("0x10", "16"), ("-0XfF", "-255"), (".5", ".5"),
        ("5.", "5."), ("1e3", "1e3"), ("1.5E-3", "1.5E-3"),
    ])
    func aNumberHasTheFormsOfJSON5(_ text: String, _ literal: String) throws {
        #expect(try value(text) == .number(literal))
    }

    @Test func aListHoldsValuesThatAreNone() throws {
        let expected: SettingValue = .list([.string("a"), .number("1"), .bool(false), .null])
        #expect(try value("['a', 1, false, null,]") == expected)
    }

    @Test(arguments: [
        ("", 1, 1), ("[]", 1, 1), ("{", 1, 2), ("{a}", 1, 3), ("{a: }", 1, 5), ("{a: b}", 1, 5),
        ("{\n  a: 1\n  b: 2\n}", 3, 3), ("{\n a: 'x\n'}", 2, 5), ("{} x", 1, 4), ("{,}", 1, 2),
        ("{a: 1,, b: 2}", 1, 7), ("{/* a: 1}", 1, 2), ("{/ a: 1}", 1, 2), ("{1a: 1}", 1, 4),
        ("{a: [[1]]}", 1, 6), ("{a: [{}]}", 1, 6), ("{a: [1 2]}", 1, 8), ("{a: '\\u12'}", 1, 8),
        ("{a: '\\uD800'}", 1, 8), ("{a: 1x}", 1, 5), ("{a: --1}", 1, 5), ("{a: Infinity}", 1, 5),
        ("{a:{a:{a:{a:{a:{a:{a:{a:{}}}}}}}}}", 1, 25), ("{a: True}", 1, 5), ("{\r\n a: ]}", 2, 5),
        ("{a: 0x-5}", 1, 5), ("{a: .}", 1, 5), ("{a: -.}", 1, 5), ("{a: 0x1.8p1}", 1, 5),
        ("{a: '\\x+1'}", 1, 8),
    ])
    func aBrokenTextIsNamedByItsPlace(_ text: String, _ line: Int, _ column: Int) {
        let error = #expect(throws: JSON5Reader.SyntaxError.self) { try settings(text) }
        #expect(error?.line == line && error?.column == column, "\(String(describing: error))")
    }

    @Test func noReasonHoldsTheText() {
        let error = #expect(throws: JSON5Reader.SyntaxError.self) {
            try settings("{url: redis://user:hunter2@host}")
        }
        #expect(error.map { "\($0)".contains("hunter2") } == false)
    }

    @Test func aTextOfInvalidUTF8IsBroken() {
        let text = Array("{a: '".utf8) + [0xFF] + Array("'}".utf8)
        #expect(throws: JSON5Reader.SyntaxError.self) {
            try JSON5Reader.settings(of: text, path: "f")
        }
    }

    @Test func randomTextsAreReadOrRefusedButNeverMore() {
        let seed: UInt64 = 5
        var generator = SplitMix64(seed: seed)
        let pieces = ["{", "}", "[", "]", ":", ",", "a", "1", "'", "\"", "\\", "/", "*", "\n", "."]
        var read = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...12, using: &generator)
            let body = (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }
            if (try? settings("{" + body.joined() + "}")) != nil { read += 1 }
        }
        #expect(read > 0 && read < 20_000, "seed \(seed)")
    }
}
