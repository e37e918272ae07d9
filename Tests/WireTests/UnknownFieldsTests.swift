import JSON
import TestSupport
import Testing
import Wire

/// Fields that a frame has very many of are counted and not built, and nothing else about them is
/// another matter.
@Suite struct UnknownFieldsTests {
    private static func frame(_ method: String, _ params: String) -> RequestFrame {
        let text = #"{"id":1,"method":"\#(method)","params":{\#(params)}}"#
        return RequestFrame.decode(Array(text.utf8), isBinary: false)
    }

    private static func fields(_ request: Request) -> UnknownFields? {
        switch request {
        case .sendMessage(_, let content): content.unknownFields
        case .editMessage(_, _, let edit): edit.unknownFields
        case .createConversation(_, let fields, _): fields.unknownFields
        case .updateConversation(_, let fields): fields.unknownFields
        default: nil
        }
    }

    private static let methods = [
        ("sendMessage", #""conversation":"c""#), ("editMessage", #""conversation":"c","id":"m""#),
        ("createConversation", #""participants":["a"]"#),
        ("updateConversation", #""conversation":"c""#),
    ]

    /// Names that come twice, escaped or of the protocol, at any place; judged by a dictionary.
    @Test(arguments: methods)
    func theyAreThoseOfTheFrame(method: String, params: String) throws {
        var random = SplitMix64(seed: 7)
        for round in 0..<60 {
            let count = [0, 1, 99, 100, 101, 102, 300, 1500][round % 8]
            var written: [String] = []
            var last: [String: String] = [:]
            for field in 0..<count {
                let name = "field\(field)"
                let value =
                    ["null", "1", "\"\(field)\"", "[[1,2],[3,4]]"]
                    .randomElement(using: &random) ?? ""
                written.append("\"\(name)\":\"an earlier one\"")
                written.append(
                    round % 3 == 0 ? #""f\u0069eld\#(field)":\#(value)"# : "\"\(name)\":\(value)")
                last[name] = value
            }
            let known = method == "sendMessage" || method == "editMessage" ? "author" : "head"
            written.insert("\"\(known)\":7", at: Int.random(in: 0...written.count, using: &random))
            let frame = Self.frame(
                method,
                ([params] + [#""metadata":{}"#] + written).joined(
                    separator: ","))
            let fields = try #require(Self.fields(try frame.request.get()))
            #expect(fields.count == count && fields.isEmpty == (count == 0))
            #expect(
                fields.size == last.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count })
            let members = fields.members
            #expect(members.map(\.key) == (0..<count).map { "field\($0)" })
            #expect(
                members.map { String(decoding: $0.value.bytes, as: UTF8.self) }
                    == (0..<count).map { last["field\($0)"] })
            // However they are kept, they are equal.
            #expect(fields == UnknownFields(members) && fields.built == fields)
            #expect(fields.hashValue == UnknownFields(members).hashValue)
        }
    }

    /// What is refused for its depth is refused for it whether few or many are beside it, and what
    /// does not count is not looked at.
    @Test(arguments: methods)
    func aDeepOneIsRefusedAmongMany(method: String, params: String) {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        for count in [0, 300] {
            let many = (0..<count).map { ",\"f\($0)\":1" }.joined()
            func request(_ field: String) -> Result<Request, RequestError> {
                Self.frame(method, params + many + "," + field).request
            }
            let error = RequestError.invalid(
                "params.an unknown field: nested too deep (accepted: at most 32 levels)")
            #expect(request("\"deep\":\(nested(33))") == .failure(error))
            #expect(request("\"deep\":[1,\(nested(32))]") == .failure(error))
            #expect((try? request("\"deep\":\(nested(32))").get()) != nil)
            #expect((try? request("\"deep\":\(nested(33)),\"deep\":1").get()) != nil)
        }
    }

    @Test func manyFieldsAloneAreContent() throws {
        let many = (0..<300).map { ",\"f\($0)\":1" }.joined()
        let request = try Self.frame("sendMessage", #""conversation":"c""# + many).request.get()
        #expect(Self.fields(request)?.count == 300)
    }

    /// Merged, counted or not, into few or many: each by each.
    @Test func mergedTheyAreWhatTheirMembersAre() throws {
        func fields(_ members: [(Int, String)]) throws -> UnknownFields {
            let text = members.map { "\"f\($0.0)\":\($0.1)" }.joined(separator: ",")
            return try #require(
                Self.fields(
                    try Self.frame(
                        "updateConversation",
                        #""conversation":"c""#
                            + (text.isEmpty ? "" : "," + text)
                    ).request.get()))
        }
        var random = SplitMix64(seed: 1)
        func some(_ count: Int) throws -> UnknownFields {
            try fields(
                (0..<400).shuffled(using: &random).prefix(count).map {
                    ($0, ["null", "1", "[2]", "\"three\""].randomElement(using: &random) ?? "")
                })
        }
        for first in [0, 1, 90, 250] {
            for second in [0, 1, 90, 150, 300] {
                for third in [0, 200] {
                    let (a, b, c) = (try some(first), try some(second), try some(third))
                    let merged = a.merged(with: b)
                    let members = a.members.merged(with: b.members)
                    #expect(merged.members == members && merged.count == members.count)
                    #expect(merged.size == members.size)
                    #expect(merged == UnknownFields(members))
                    let again = c.merged(with: merged)
                    let expected = c.members.merged(with: members)
                    #expect(again.members == expected && again.count == expected.count)
                    #expect(merged.merged(with: c).members == members.merged(with: c.members))
                }
            }
        }
    }

    /// Ids and labels that are too long are refused for it without being built, as before.
    @Test func longIDsAndLabelsAreRefused() {
        func error(_ params: String) -> String? {
            guard case .failure(let error) = Self.frame("fetchConversation", params).request else {
                return nil
            }
            return error.message
        }
        let refused = "params.conversation: no id (accepted: \(Identifier.accepted))"
        for text in [
            String(repeating: "x", count: 256), String(repeating: "x", count: 2000),
            String(repeating: #"\u0041"#, count: 256), String(repeating: #"\u0041"#, count: 2000),
        ] { #expect(error(#""conversation":"\#(text)""#) == refused) }
        for text in [
            String(repeating: "x", count: 255), String(repeating: #"\u0041"#, count: 255),
            String(repeating: "é", count: 127),
        ] { #expect(error(#""conversation":"\#(text)""#) == nil) }
        for (text, count) in [("x", 256), (#"\u0041"#, 300), ("é", 60_000), (#"\ud83d\ude00"#, 90)]
        {
            let label = String(repeating: text, count: count)
            let bytes = count * [#"\u0041"#: 1, "x": 1, "é": 2][text, default: 4]
            let frame = Self.frame("connect", #""user":"u","client":"\#(label)""#)
            #expect(
                frame.request
                    == .failure(
                        .invalid(
                            "params.client: a string of \(bytes) bytes"
                                + " (accepted: at most 255 bytes)")))
        }
    }
}
