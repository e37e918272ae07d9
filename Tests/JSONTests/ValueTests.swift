import JSON
import Testing

/// What a value's text stands for.
@Suite struct ValueTests {
    private func value(_ text: String) throws -> RawJSON { try RawJSON(Array(text.utf8)) }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("3.0", 3), ("3.000", 3), ("3e0", 3),
        ("3E2", 300), ("30e-1", 3), ("0.3e1", 3), ("12.50e1", 125), ("-1.5e1", -15), ("0e999", 0),
        ("0.0", 0), ("-0.000e-5", 0), ("9007199254740991", 9_007_199_254_740_991),
        ("999999999999999999", 999_999_999_999_999_999),
        ("9223372036854775807", .max), ("-9223372036854775808", .min),
        ("9223372036854775807.0", .max), ("922337203685477580700e-2", .max),
    ])
    func readsIntegersHoweverTheyAreWritten(text: String, expected: Int) throws {
        #expect(try value(text).int == expected)
    }

    @Test(arguments: [
        "1.5", "0.1", "1e-1", "15e-2", "9223372036854775808", "-9223372036854775809",
        "99999999999999999999999", "1e19", "1e400", "1e99999999999999999999",
        "1e-99999999999999999",
        "true", "null", #""7""#, "[7]", "{}",
    ])
    func hasNoIntegerWhereThereIsNone(text: String) throws {
        #expect(try value(text).int == nil)
    }

    @Test func readsDoublesWithinTheirRange() throws {
        #expect(try value("1.5").double == 1.5)
        #expect(try value("-2e3").double == -2000)
        #expect(try value("1e999").double == nil)
        #expect(try value("true").double == nil)
    }

    @Test func tellsKindsApart() throws {
        let kinds: [(String, RawJSON.Kind)] = [
            ("null", .null), ("true", .bool), ("false", .bool), ("-1", .number), (#""""#, .string),
            ("[]", .array), ("{}", .object),
        ]
        for (text, kind) in kinds {
            let value = try value(text)
            #expect(value.kind == kind)
            #expect((value.bool != nil) == (kind == .bool))
            #expect((value.int != nil) == (kind == .number))
            #expect((value.string != nil) == (kind == .string))
            #expect((value.array != nil) == (kind == .array))
            #expect((value.object != nil) == (kind == .object))
            #expect(value.isNull == (kind == .null))
        }
        #expect(try value("true").bool == true)
        #expect(try value("false").bool == false)
    }

    @Test func unescapesStrings() throws {
        #expect(try value(#""\"\\\/\b\f\n\r\t""#).string == "\"\\/\u{8}\u{C}\n\r\t")
        #expect(try value(#""a\u00e9\u20AC\ud83d\ude00z""#).string == "aé€😀z")
        #expect(try value(#""\u0000\uffff""#).string == "\0\u{FFFF}")
        #expect(try value(#""é""#).string == "é")
    }

    @Test func keepsElementsAsTheyWereWritten() throws {
        let elements = try value(#"[ 1.0 , "\u0041", null,{ "a" : 1 } ,[ ]]"#).array
        let texts = elements?.map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(texts == ["1.0", #""\u0041""#, "null", #"{ "a" : 1 }"#, "[ ]"])
    }

    @Test func looksUpTheLastOfSeveralMembers() throws {
        let object = try JSONObject(Array(#" {"a":1,"b":2,"\u0061":3} "#.utf8))
        #expect(object["a"]?.int == 3)
        #expect(object["b"]?.int == 2)
        #expect(object["c"] == nil)
        #expect(object.members.map(\.key) == ["a", "b", "a"])
        #expect(object.members(except: ["b"]).map(\.value.int) == [3])
    }

    @Test func tellsNamesApartByTheirBytes() throws {
        let composed = "caf\u{E9}"
        let combining = "cafe\u{301}"
        let object = try JSONObject(Array("{\"\(composed)\":1,\"\(combining)\":2}".utf8))
        #expect(object[composed]?.int == 1)
        #expect(object[combining]?.int == 2)
        #expect(object.members(except: []).count == 2)
    }

    @Test func anObjectIsNothingElse() {
        for text in ["[]", "1", "null", #""{}""#, "", "{}{}"] {
            #expect(throws: JSONError.self) { try JSONObject(Array(text.utf8)) }
        }
    }

    @Test func makesValues() throws {
        #expect(RawJSON(string: "a\"b").bytes == Array(#""a\"b""#.utf8))
        #expect(RawJSON(int: -42).bytes == Array("-42".utf8))
        for value in [RawJSON.null, .true, .false, .emptyObject, .emptyArray] {
            #expect(try RawJSON(value.bytes) == value)
        }
    }

    @Test func hasOneCanonicalTextForOneMeaning() throws {
        let one = try value(
            #" { "b" : [ 1 , {"y":null,"x":"\u0041\/\u00e9"} ], "a" : 1, "a" : 2.0, "é":1,"z":2 } "#
        )
        let other = try value(#"{"z":2,"é":1,"a":2.0,"b":[1,{"x":"A/é","y":null}]}"#)
        let text = #"{"a":2.0,"b":[1,{"x":"A/é","y":null}],"z":2,"é":1}"#
        #expect(String(decoding: one.canonical(), as: UTF8.self) == text)
        #expect(String(decoding: other.canonical(), as: UTF8.self) == text)
        #expect(try value(#""\u001f\u007f\t""#).canonical() == Array("\"\\u001f\u{7F}\\t\"".utf8))
    }

    @Test func aValueVouchedForWronglyHarmsNobody() {
        for text in [
            #"""#, "", "\\", #"["a""#, "[", "{", #"{"a"#, #""\u12"#, #""\ud800\u""#, "12x", "-",
            "e",
        ] {
            let value = RawJSON(unchecked: Array(text.utf8))
            _ = (value.kind, value.string, value.int, value.double, value.array?.count)
            _ = (value.bool, value.object?.members.count)
            #expect(value.canonical().count >= 0)
        }
    }
}
