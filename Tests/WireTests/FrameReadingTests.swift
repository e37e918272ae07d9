import JSON
import TestSupport
import Testing
import Wire

/// A frame is read in one pass over its text and decoded from where its parts lie. What comes of it
/// is what comes of a plain frame of the same parts, each copied out by the reader of values.
@Suite struct FrameReadingTests {
    /// A frame of random parts in a random order: names twice or escaped, values that are none, now
    /// and then damaged.
    private struct RandomFrame {
        var random: SplitMix64

        private mutating func one(_ words: [String]) -> String {
            words.randomElement(using: &random) ?? ""
        }

        /// Now and then one of the faults.
        private mutating func mostly(_ good: String, _ faults: [String]) -> String {
            Int.random(in: 0..<16, using: &random) == 0 ? one(faults) : good
        }

        private mutating func ids(_ count: Int) -> String {
            var ids = (0..<count).map { "\"u\($0)\"" }
            if Int.random(in: 0..<4, using: &random) == 0, let last = ids.indices.last {
                ids[last] = one([#""""#, "7", "null", #""a\u000a""#, #""\u00e9""#, "[1]", #""é""#])
            }
            return "[" + ids.joined(separator: one([",", " , "])) + "]"
        }

        private mutating func list() -> String {
            guard Int.random(in: 0..<16, using: &random) > 0 else {
                return one([#"{"a":["b"]}"#, "null", #""u""#, "12"])
            }
            return ids([0, 1, 2, 3, 1000, 1001].randomElement(using: &random) ?? 0)
        }

        private mutating func runs() -> String {
            let count = [0, 1, 2, 40, 1000, 1001].randomElement(using: &random) ?? 0
            var runs = (0..<count).map { "[\(3 * $0 + 1),\(3 * $0 + 2)]" }
            if Int.random(in: 0..<4, using: &random) == 0, let last = runs.indices.last {
                runs[last] = one(["[2,1]", "[7]", "7", "[1.0,2e0]", "[ 9999 , 10000 ]"])
            }
            return "[" + runs.joined(separator: ",") + "]"
        }

        private mutating func params() -> String {
            guard Int.random(in: 0..<16, using: &random) > 0 else {
                return one(["null", "[]", "7", #""p""#, "{}", "{ }"])
            }
            let head = #"{"epoch":"e","seq":9,"rev":9,"mark":"m"}"#
            var members = [
                #""conversation":"# + mostly(#""c""#, [#""\u0063""#, "null", "7"]),
                #""id":"# + mostly(#""m1""#, [#""m\n""#, "[]", #""""#]),
                #""\u0069d":"twice""#, #""body":"# + mostly(#""b""#, ["null", "7"]),
                #""participants":"# + list(), #""users":"# + list(),
                #""have":{"head":\#(head),"asOf":9,"runs":\#(runs())}"#,
                #""cached":"# + mostly(one(["true", "false"]), ["1"]), #""mine":[1,{"a":"\\\""}]"#,
                #""seq":4"#, #""state":"begin""#, #""token":"t""#, #""limit":7"#,
            ]
            members.shuffle(using: &random)
            return "{"
                + members.dropLast(Int.random(in: 0...3, using: &random))
                .joined(separator: ",") + "}"
        }

        mutating func text() -> [UInt8] {
            let method = Method.allCases.randomElement(using: &random)?.rawValue ?? ""
            var members = [
                one([#""id":"#, #""\u0069d":"#, #""id" : "#])
                    + mostly(one(["7", "8.0"]), ["0", #""7""#, "null"]),
                one([#""method":"#, #""m\u0065thod":"#]) + #""\#(method)""#,
                one([#""params":"#, #""params":"#, #""p\u0061rams":"#]) + params(),
            ]
            let more = [
                #""id":9"#, #""params":"# + params(), #""cached":"# + one(["false", "0"]),
                #""x":{"id":5,"params":{}}"#, #""method":"x""#,
            ]
            let count = max(0, Int.random(in: -3...2, using: &random))
            members += more.shuffled(using: &random).prefix(count)
            members.shuffle(using: &random)
            members.removeLast(Int.random(in: 0..<12, using: &random) == 0 ? 1 : 0)
            var bytes = Array("{\(members.joined(separator: ","))}".utf8)
            if Int.random(in: 0..<8, using: &random) == 0 {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                bytes[at] = Array(#"{}[]",:0-e\u"#.utf8).randomElement(using: &random) ?? 0
            }
            return bytes
        }
    }

    /// A frame of the same id, method, params and `cached`, written plainly; nil if the text is no
    /// object.
    private static func plain(_ text: [UInt8]) -> [UInt8]? {
        guard let object = (try? RawJSON(text))?.object else { return nil }
        return JSONObject(
            members: ["id", "method", "cached", "params"].compactMap { name in
                object[name].map { value in
                    let members = value.object?.members(except: [])
                    let plain = members.map {
                        RawJSON(unchecked: JSONObject(members: $0).bytes)
                    }
                    return JSONMember(key: name, value: plain ?? value)
                }
            }
        ).bytes
    }

    @Test func everyFrameSaysWhatItsPartsSay() throws {
        var codes: [ErrorCode?: Int] = [:]
        for seed in UInt64(1)...1000 {
            var frame = RandomFrame(random: SplitMix64(seed: seed))
            let text = frame.text()
            let read = RequestFrame.read(text, isBinary: false)
            let decoded = RequestFrame.decode(text, isBinary: false)
            #expect(read.id == decoded.id && read.size == text.count, "seed \(seed)")
            #expect(read.request == decoded.request, "seed \(seed)")
            #expect(read.takesCached == decoded.takesCached, "seed \(seed)")
            codes[Self.code(decoded.request), default: 0] += 1
            if let plain = Self.plain(text) {
                let expected = RequestFrame.decode(plain, isBinary: false)
                #expect(decoded.id == expected.id, "seed \(seed)")
                #expect(decoded.request == expected.request, "seed \(seed)")
                #expect(decoded.takesCached == expected.takesCached, "seed \(seed)")
            } else {
                #expect(decoded.id == 0, "seed \(seed)")
                guard case .failure(let error) = decoded.request else {
                    Issue.record("seed \(seed) was taken for a request")
                    continue
                }
                #expect(error.message.hasPrefix("frame: at byte "), "seed \(seed)")
            }
            if case .success(let request) = decoded.request {
                #expect(read.method == request.row.method, "seed \(seed)")
                #expect(read.outline == request.outline, "seed \(seed)")
                #expect(decoded.outline == request.outline, "seed \(seed)")
            }
        }
        for code in [nil, .badRequest, .tooLarge, .unknownMethod] as [ErrorCode?] {
            #expect(codes[code] ?? 0 > 10, "\(codes)")
        }
    }

    private static func code(_ request: Result<Request, RequestError>) -> ErrorCode? {
        if case .failure(let error) = request { error.code } else { nil }
    }

    @Test(arguments: [
        (0, "an array of 0 (accepted: an array of 1–1000 ids)", RequestError.Reason.fieldInvalid),
        (1001, "an array of 1001 (accepted: an array of 1–1000 ids)", .limitArray),
        (4000, "an array of 4000 (accepted: an array of 1–1000 ids)", .limitArray),
    ])
    func aListIsRefusedForItsLengthWhateverIsInIt(
        count: Int, words: String, reason: RequestError.Reason
    ) {
        for element in [#""u""#, "7", "[[1,2],[3,4]]", #"{"a":[]}"#, #""\u0000""#] {
            let users = Array(repeating: element, count: count).joined(separator: ",")
            let params = #"{"users":[\#(users)],"conversation":"c"}"#
            let text = #"{"params":\#(params),"method":"addParticipants","id":7}"#
            let frame = RequestFrame.decode(Array(text.utf8), isBinary: false)
            #expect(frame.id == 7)
            #expect(
                frame.request == .failure(RequestError(reason, "params.users: \(words)")), "\(text)"
            )
        }
    }

    @Test func runsAreRefusedForTheirNumberWhateverTheySay() {
        let head = #""head":{"epoch":"e","seq":9,"rev":9,"mark":"m"}"#
        for run in ["[1,2]", "7", #""x""#] {
            let runs = Array(repeating: run, count: 1001).joined(separator: ",")
            let have = #"{\#(head),"asOf":9,"runs":[\#(runs)]}"#
            let params = #"{"conversation":"c","have":\#(have)}"#
            let text = #"{"id":7,"method":"findBoundaries","params":\#(params)}"#
            #expect(
                RequestFrame.decode(Array(text.utf8), isBinary: false).request
                    == .failure(
                        RequestError(.limitRuns, "params.have.runs: 1001 runs (at most 1000)")))
        }
    }

    @Test func anOutlineIsOfWhatCanBeToldOfIt() {
        func outline(_ text: String) -> Request.Outline? {
            RequestFrame.read(Array(text.utf8), isBinary: false).outline
        }
        let params = #"{"conversation":"c","id":"m","body":7}"#
        let malformed = outline(#"{"id":1,"method":"sendMessage","params":\#(params)}"#)
        #expect(malformed?.method == .sendMessage)
        #expect(malformed?.conversation == "c" && malformed?.message == "m")
        let bare = outline(#"{"id":1,"method":"sendMessage","params":{"id":7}}"#)
        #expect(bare?.method == .sendMessage)
        #expect(bare?.conversation == nil && bare?.message == nil)
        let created = outline(#"{"id":1,"method":"createConversation","params":{"id":"c"}}"#)
        #expect(created?.message == nil && created?.conversation == nil)
        #expect(outline(#"{"id":1,"method":"nothing","params":{}}"#) == nil)
        #expect(outline(#"{"id":1,"method":"sendMessage","params":[]}"#) == nil)
    }
}
