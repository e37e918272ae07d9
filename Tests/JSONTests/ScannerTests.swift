import JSON
import Testing

/// What is JSON and what is not: RFC 8259, byte by byte.
@Suite struct ScannerTests {
    @Test(arguments: [
        "0", "-0", "7", "-1", "10", "1.5", "-0.0", "1e5", "1E+5", "1e-05", "0e0",
        "123456789012345678901234567890", "1e999", "true", "false", "null",
        #""""#, #""a""#, #""é€😀""#, #""\"\\\/\b\f\n\r\t""#, #""\u0041""#, #""\u0000""#,
        #""\ud83d\uDE00""#, #""\uFFFF""#, "\"\u{7F}\"", "\"\u{2028}\"", #""12345678""#,
        #""1234567é""#,
        "[]", "[ ]", "[1]", "[1,2]", "[ 1 , 2 ]", "[[],{}]", "{}", "{ }", #"{"a":1}"#,
        #"{ "a" : 1 , "b" : [ ] }"#, #"{"":0}"#, #"{"a":1,"a":2}"#, " \t\r\n1 \t\r\n",
    ])
    func acceptsWhatIsJSON(text: String) throws {
        let value = try RawJSON(Array(text.utf8))
        #expect(String(decoding: value.bytes, as: UTF8.self) == text.trimmed)
    }

    @Test(arguments: [
        "", " ", "+1", "01", "-", "-01", "1.", ".5", "1e", "1e+", "1.e5", "0x1", "1 2", "1,",
        "tru", "truE", "True", "nul", "nulL", "fals", "falsey", "nan", "NaN", "Infinity",
        "-Infinity", "'a'", "a", #"""#, #""a"#, #""\"#, #""\x""#, #""\u""#, #""\u12""#,
        #""\u123g""#, #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800x""#,
        #""\ud800\n""#, #""\ud800\"#, "\"\n\"", "\"\t\"", "\"\0\"", "\"1234567\u{1F}\"", "[", "]",
        "[1", "[1,", "[,1]", "[1,]", "[1 2]", "[1}", "{", "}", "{1:2}", "{a:1}", #"{"a"}"#,
        #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1"#, #"{"a" 1}"#, #"{"a":1]"#,
        "{}x", "[]]", "// a\n1", "1 /* a */", "\u{FEFF}1", "\u{A0}1", "\u{0B}1",
    ])
    func refusesWhatIsNot(text: String) {
        #expect(throws: JSONError.self) { try RawJSON(Array(text.utf8)) }
        #expect(throws: JSONError.self) { try JSONObject(Array("{\"a\":\(text)".utf8)) }
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xC2, 0xC2],
            [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1],
            [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x41],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
            [0xFE], [0xFF],
        ] as [[UInt8]])
    func refusesWhatIsNotUTF8(sequence: [UInt8]) {
        for padding in 0...9 {
            let lead = [UInt8](repeating: UInt8(ascii: "a"), count: padding)
            let quote = [UInt8(ascii: "\"")]
            #expect(throws: JSONError.self) { try RawJSON(quote + lead + sequence + quote) }
            #expect(throws: JSONError.self) { try RawJSON(quote + lead + sequence) }
        }
    }

    @Test func agreesWithTheStandardLibraryOnEveryTwoByteSequence() {
        for first in UInt8(0x80)...0xFF {
            for second in UInt8(0x20)...0xFF where second != 0x22 && second != 0x5C {
                let bytes = [first, second]
                let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
                let isAccepted = (try? RawJSON([0x22] + bytes + [0x22])) != nil
                #expect(isAccepted == isUTF8, "\(bytes)")
            }
        }
    }

    @Test func findsASpecialByteAtEveryPlaceOfAWord() {
        for length in 0...20 {
            for place in 0...length {
                for special in [UInt8(0x00), 0x1F, 0x0A, 0x80, 0xFF] {
                    var text = [UInt8](repeating: 0x7E, count: length)
                    text.insert(special, at: place)
                    #expect(throws: JSONError.self) { try RawJSON([0x22] + text + [0x22]) }
                }
                var escaped = [UInt8](repeating: 0x21, count: length)
                escaped.insert(contentsOf: [0x5C, 0x22], at: place)
                let value = try? RawJSON([0x22] + escaped + [0x22])
                #expect(value?.string?.utf8.count == length + 1)
            }
        }
    }

    @Test func nestsToTheLimitAndNoDeeper() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let deepest = String(repeating: open, count: 64)
            let end = String(repeating: close, count: 64)
            let value = try RawJSON(Array("\(deepest)1\(end)".utf8))
            #expect(value.canonical() == value.bytes)
            let deeper = Array("\(deepest)[]\(end)".utf8)
            #expect(throws: JSONError.self) { try RawJSON(deeper) }
            #expect(throws: JSONError.self) { try JSONObject(deeper) }
        }
        let unclosed = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(throws: JSONError.self) { try RawJSON(unclosed) }
    }

    @Test func anErrorSaysWhereAndNeverWhat() {
        let secret = "correct-horse"
        for text in [#"{"a":"\#(secret)"#, #"{"a":\#(secret)}"#, #"["\#(secret)\q"]"#] {
            do {
                _ = try RawJSON(Array(text.utf8))
                Issue.record("accepted")
            } catch {
                #expect(error.offset <= text.utf8.count)
                #expect(!error.reason.contains(secret))
                #expect(!error.reason.isEmpty)
            }
        }
    }
}

extension String {
    /// Without the four bytes of white space at the ends.
    fileprivate var trimmed: String {
        let space = Set<Character>(["\t", "\n", "\r", " ", "\r\n"])
        return String(drop { space.contains($0) }.reversed().drop { space.contains($0) }.reversed())
    }
}
