import Chat
import Engine
import JSON
import Rules
import Simulation
import Testing
import Wire

/// A value with too many fields is refused in the same words, and after the same other refusals,
/// whether its fields were built or only counted.
@Suite struct UnknownFieldsTests {
    private static func many(_ numbers: Range<Int>, _ value: String = "1") -> String {
        numbers.map { ",\"f\($0)\":\(value)" }.joined()
    }

    /// As a frame has it, and built.
    private static func edit(_ text: String) throws -> (counted: MessageEdit, built: MessageEdit) {
        let counted = try MessageEdit.decode(JSONObject(inPlace: Array(text.utf8)), prefix: "")
        var built = counted
        built.unknownFields = UnknownFields(counted.unknownFields.members)
        return (counted, built)
    }

    private static func result<Value>(
        _ body: () throws(RequestError) -> Value
    ) -> Result<Value, RequestError> {
        do throws(RequestError) { return .success(try body()) } catch { return .failure(error) }
    }

    /// Every pairing of what is there and what is asked for, under each limit: also a limit that
    /// was lowered beneath what is there, which may stay.
    @Test func aChangeComesToTheSame() throws {
        var codes: [ErrorCode?: Int] = [:]
        for before in [0, 3, 90, 140, 250] {
            let stored = MessageContent(
                body: "b",
                unknown: try Self.edit("{\"x\":1\(Self.many(0..<before))}").built
                    .unknownFields.members)
            let said = Description(
                .conversation, title: "b", metadata: .emptyObject, unknown: stored.unknown)
            for text in [
                "{\"body\":\"b\"}", "{\"y\":1}", "{\"body\":\"b\"\(Self.many(0..<140))}",
                "{\"body\":\"c\"\(Self.many(0..<250))}", "{\"z\":2\(Self.many(0..<250, "2"))}",
                "{\"z\":null\(Self.many(100..<300, "null"))}",
                "{\"ifRev\":7\(Self.many(50..<300))}", "{\"body\":\"b\"\(Self.many(0..<250))}",
                "{\"ifRev\":7\(Self.many(0..<300, "null"))\(Self.many(200..<400))}",
            ] {
                for (fields, bytes) in [(2, 32_768), (100, 32_768), (260, 1000), (1000, 900)] {
                    var limits = LogLimits()
                    limits.unknownFields = fields
                    (limits.message, limits.record) = (bytes, bytes)
                    let (counted, built) = try Self.edit(text)
                    let message = try Self.message(stored)
                    let results = [counted, built].map { edit in
                        Self.result { () throws(RequestError) in
                            try stored.edited(by: edit, of: message, within: limits)
                        }
                    }
                    #expect(results[0] == results[1], "\(before) \(text.prefix(60)) \(fields)")
                    let code: ErrorCode? =
                        if case .failure(let error) = results[0] { error.code } else { nil }
                    codes[code, default: 0] += 1
                    let changes = [counted, built].map { edit in
                        Self.result { () throws(RequestError) -> Description? in
                            let changed = said.changed(
                                title: edit.body, metadata: nil, unknown: edit.unknownFields)
                            if let changed { try limits.check(changed, insteadOf: said) }
                            return changed
                        }
                    }
                    #expect(changes[0] == changes[1], "\(before) \(text.prefix(60)) \(fields)")
                }
            }
        }
        for code in [nil, .tooLarge, .conflict] as [ErrorCode?] { #expect(codes[code] ?? 0 > 9) }
    }

    private static func message(_ content: MessageContent) throws -> EncodedMessage {
        EncodedMessage.encode(
            id: "m", conversation: "c", seq: 1, rev: 1, author: "a", body: content.body,
            attachment: nil, metadata: nil, createdAt: .init(milliseconds: 0), editedAt: nil,
            deleted: false, unknown: content.unknown)
    }

    @Test func aNewRecordComesToTheSame() throws {
        for text in ["{\"a\":1\(Self.many(0..<200))}", "{\"a\":null\(Self.many(0..<200, "null"))}"]
        {
            let counted = try ConversationFields.decode(
                JSONObject(inPlace: Array(text.utf8)), prefix: "")
            var built = counted
            built.unknownFields = UnknownFields(counted.unknownFields.members)
            for limit in [100, 300] {
                var limits = LogLimits()
                limits.unknownFields = limit
                for isPut in [false, true] {
                    let results = [counted, built].map { fields in
                        Self.result { () throws(RequestError) in
                            try Description(fields, isPut: isPut).new(within: limits)
                        }
                    }
                    #expect(results[0] == results[1])
                }
            }
        }
    }

    // MARK: - Through the engine

    private static let refusal =
        "unknown fields: 1500 of them, at most 100 are accepted (limits.unknown_fields)"

    private func errors(_ rig: Rig, _ session: SessionID) -> [[String?]] {
        rig.take(session).map { frame in
            let error = frame["error"]?.object
            return [error?["code"]?.string, error?["message"]?.string]
        }
    }

    @Test(arguments: [false, true])
    func aMessageIsRefusedForTheirNumber(isDecoded: Bool) {
        let rig = Rig()
        rig.isDecodingElsewhere = isDecoded
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "sendMessage", #""conversation":"c1""# + Self.many(0..<1500))
        #expect(errors(rig, session) == [["too_large", Self.refusal]])
        // A conversation that there is not, or that is another's, is not looked for.
        rig.send(session, 3, "sendMessage", #""conversation":"none""# + Self.many(0..<1500))
        #expect(errors(rig, session) == [["too_large", Self.refusal]])
        // What is too long is said to be that.
        let long = #","body":"\#(String(repeating: "b", count: 30_000))""#
        rig.send(session, 4, "sendMessage", #""conversation":"c1""# + long + Self.many(0..<1500))
        let size = 30_000 + (0..<1500).reduce(0) { $0 + "f\($1)".utf8.count + 1 }
        #expect(
            errors(rig, session) == [
                [
                    "too_large",
                    "message: \(size) bytes of content, at most 32768 are accepted"
                        + " (limits.message)",
                ]
            ])
        rig.send(session, 5, "sendMessage", #""conversation":"c1","id":7"# + Self.many(0..<1500))
        #expect(errors(rig, session).map { $0[0] } == ["bad_request"])
    }

    @Test func whoMayNotSendIsToldThat() {
        var limits = Limits()
        limits.clients.sends = false
        let rig = Rig(limits)
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "sendMessage", #""conversation":"c1""# + Self.many(0..<1500))
        #expect(errors(rig, session).map { $0[0] } == ["forbidden"])
        let stranger = rig.open()
        rig.send(stranger, 1, "sendMessage", #""conversation":"c1""# + Self.many(0..<1500))
        #expect(rig.closes[stranger] == .protocolViolation)
    }

    /// With a limit that accepts them, none of many is lost on its way.
    @Test func whatIsAcceptedIsWhole() {
        var limits = Limits()
        limits.log.unknownFields = 2000
        let rig = Rig(limits)
        rig.origin.limits.unknownFields = 2000
        rig.create()
        let session = rig.connect("ann")
        rig.send(
            session, 2, "sendMessage", #""conversation":"c1","id":"m1""# + Self.many(0..<1500))
        rig.send(
            session, 3, "editMessage",
            #""conversation":"c1","id":"m1""# + Self.many(1000..<1600, "2")
                + Self.many(0..<50, "null"))
        rig.send(session, 4, "updateConversation", #""conversation":"c1""# + Self.many(0..<1500))
        let results = rig.take(session).map { $0["result"]?.object }
        let message = { (index: Int) in results[index]?["message"]?.object }
        #expect(message(0)?["f0"]?.int == 1 && message(0)?["f1499"]?.int == 1)
        #expect(message(1)?["f49"] == nil && message(1)?["f50"]?.int == 1)
        #expect(message(1)?["f1000"]?.int == 2 && message(1)?["f1599"]?.int == 2)
        #expect(results[2]?["conversation"]?.object?["f1499"]?.int == 1)
    }
}
