import Foundation
import JSON
import Testing

/// What the writer writes, read back by another reader.
@Suite struct WriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func setsTheCommas() {
        let written = text {
            $0.beginObject()
            $0.member("a", int: 1)
            $0.key("b")
            $0.beginArray()
            $0.beginArray()
            $0.endArray()
            $0.beginObject()
            $0.endObject()
            $0.string("x")
            $0.null()
            $0.bool(true)
            $0.raw(.emptyArray)
            $0.double(1.5)
            $0.raw { $0.append(contentsOf: "7".utf8) }
            $0.endArray()
            $0.member("c", bool: false)
            $0.member("d", string: String?.none)
            $0.member("e", string: "y")
            $0.member("f", raw: Array("[1]".utf8))
            $0.member(JSONMember(key: "g\"", value: .emptyObject))
            $0.endObject()
        }
        #expect(
            written == #"{"a":1,"b":[[],{},"x",null,true,[],1.5,7],"c":false,"d":null,"e":"y","#
                + #""f":[1],"g\"":{}}"#)
    }

    @Test func escapesWhatItMustAndNothingElse() {
        #expect(
            text { $0.string("a\"\\/\u{8}\u{C}\n\r\t\u{0}\u{1f}\u{7f}é\u{2028}😀") }
                == "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}é\u{2028}😀\"")
    }

    @Test func everyCharacterSurvives() throws {
        for scalar in (0...0x10FFFF).lazy.compactMap(Unicode.Scalar.init)
        where scalar.value < 0x3000
            || scalar.value % 97 == 0
        {
            let original = "aaaaaa\(Character(scalar))b"
            let value = try RawJSON(RawJSON(string: original).bytes)
            #expect(value.string?.utf8.elementsEqual(original.utf8) == true, "\(scalar.value)")
        }
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, -1, -9, -10, 1_234_567_890, .max, .min])
    func writesIntegers(value: Int) {
        #expect(text { $0.int(value) } == "\(value)")
    }

    /// Each number of digits, at both of its ends.
    @Test func writesIntegersOfEachLength() {
        var power = 1
        for _ in 0..<18 {
            power *= 10
            for value in [power - 1, power, -power, 1 - power] {
                #expect(text { $0.int(value) } == "\(value)")
            }
        }
    }

    @Test(arguments: [0, -0.0, 1.5, -2, 1e300, .leastNonzeroMagnitude, 1e21, 123456.789])
    func writesDoubles(value: Double) throws {
        let written = text { $0.double(value) }
        #expect(try RawJSON(Array(written.utf8)).double == value)
    }

    @Test func hasNoWordForWhatIsNotFinite() {
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(text { $0.double(value) } == "null")
        }
    }
}
