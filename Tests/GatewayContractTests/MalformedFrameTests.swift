import TestSupport
import Testing

/// Frames and requests that are wrong, over a live connection: each gets its named error under its
/// own id, or under 0, and leaves the connection usable. What is no frame at all closes it with the
/// code of the table in `protocol.md` 2.
extension DefaultGateway {
    @Suite struct MalformedFrameTests {
        @Test func theTableIsLongEnough() { #expect(BadFrame.all.count >= 60) }

        @Test(arguments: BadFrame.all)
        func aBadFrameIsAnsweredAndTheConnectionGoesOn(_ bad: BadFrame) throws {
            let gateway = try LiveGateway.get()
            let conversation = try gateway.conversation(of: ["alice"], messages: 2)
            let before = try gateway.api().conversation(conversation)
            let exchange = try FrameExchange(connectedTo: gateway.port)
            let text = bad.text.split(separator: "@", omittingEmptySubsequences: false)
                .joined(separator: conversation)
            for _ in 0..<2 {
                let answer = try exchange.ask(
                    bad.frame ?? WebSocketFrame(.text, Array(text.utf8)))
                #expect(answer["id"] == .int(bad.id))
                #expect(Set((answer.object ?? [:]).keys) == ["id", "error"])
                #expect(Shape.error.faults(answer["error"]) == [])
                #expect(answer["error"]["code"] == .string(bad.code))
                #expect(answer["error"]["retry"] == "never")
                let message = answer["error"]["message"].string ?? ""
                #expect(message.contains(bad.field), "\(message) does not name \(bad.field)")
                #expect(try exchange.isUsable())
            }
            #expect(try gateway.api().conversation(conversation) == before)
        }

        @Test func anIdInUseIsRefusedAndTheFirstRequestAnswered() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let exchange = try FrameExchange(connectedTo: gateway.port)
            // A write waits for the disk, so the second request meets the first under way.
            let send =
                #"{"id":5,"method":"sendMessage","params":{"conversation":"\#(id)","body":"b"}}"#
            let again = #"{"id":5,"method":"unsubscribeConversations"}"#
            let both = [send, again].flatMap { WebSocketFrame(.text, Array($0.utf8)).encoded() }
            try exchange.connection.send(raw: both)
            let answers = [try exchange.reply(), try exchange.reply()]
            let errors = answers.filter { !$0["error"].isNull }
            #expect(errors.map { $0["error"]["code"] } == ["bad_request"])
            #expect(answers.contains { $0["id"] == 5 && $0["result"]["message"]["body"] == "b" })
            #expect(try exchange.isUsable())
        }

        @Test func nothingOfAFrameIsRepeatedInItsError() throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            let secret = GatewayTrait.secretWord
            for frame in [
                #"{"id":5,"method":"\#(secret)"}"#, secret, #"{"id":"\#(secret)"}"#,
            ]
                + [
                    ("fetchMessages", #"{"conversation":"\#(secret)"}"#),
                    ("fetchMessages", #"{"conversation":"c","order":"\#(secret)"}"#),
                    ("fetchMessages", #"{"conversation":"c","before":{"time":"\#(secret)"}}"#),
                    ("typing", #"{"conversation":"c","state":"\#(secret)"}"#),
                    ("fetchConversations", #"{"cursor":"\#(secret)"}"#),
                    ("refresh", #"{"token":"\#(secret)"}"#),
                ].map({ FrameExchange.request($0, $1) })
            {
                let answer = try exchange.ask(frame)
                #expect(answer["error"].object != nil && !answer.description.contains(secret))
            }
        }

        @Test func unknownParamsAreIgnored() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            let params: JSONValue = [
                "conversation": .string(id), "extra": ["deep": [1, 2]], "Limit": -5,
            ]
            for method in [
                "fetchMessages", "subscribeMessages", "fetchConversation", "fetchParticipants",
                "findBoundaries", "unsubscribeMessages", "fetchConversations",
                "subscribeConversations", "unsubscribeConversations", "leaveConversation",
            ] {
                #expect(try client.code(method, params) == "ok", "\(method)")
            }
        }

        struct Broken: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let bytes: [UInt8]
            let code: UInt16
        }

        static let broken: [Broken] = [
            Broken(
                testDescription: "invalid UTF-8",
                bytes: WebSocketFrame(.text, [0x7B, 0xC0, 0xAF, 0x7D]).encoded(), code: 1007),
            Broken(
                testDescription: "a surrogate in UTF-8",
                bytes: WebSocketFrame(.text, [0xED, 0xA0, 0x80]).encoded(), code: 1007),
            Broken(
                testDescription: "a frame without mask",
                bytes: WebSocketFrame(.text, Array("{}".utf8)).encoded(mask: nil), code: 1002),
            Broken(
                testDescription: "a reserved bit",
                bytes: WebSocketFrame(.text, Array("{}".utf8), reservedBits: 4).encoded(),
                code: 1002),
            Broken(
                testDescription: "a reserved opcode",
                bytes: WebSocketFrame(rawOpcode: 3, []).encoded(), code: 1002),
            Broken(
                testDescription: "a continuation of nothing",
                bytes: WebSocketFrame(.continuation, []).encoded(), code: 1002),
            Broken(
                testDescription: "a fragmented ping",
                bytes: WebSocketFrame(.ping, [], isFinal: false).encoded(), code: 1002),
            Broken(
                testDescription: "a frame above the limit",
                bytes: WebSocketFrame(.text, [UInt8](repeating: 0x20, count: 65_537)).encoded(),
                code: 1009),
        ]

        @Test(arguments: broken)
        func whatIsNoFrameClosesTheConnection(_ broken: Broken) throws {
            let gateway = try LiveGateway.get()
            let exchange = try FrameExchange(connectedTo: gateway.port)
            try exchange.connection.send(raw: broken.bytes)
            #expect(try exchange.connection.waitForClose() == broken.code)
        }

        @Test func theLargestFrameIsTakenWholeOrInFragments() throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            let request = #"{"id":5,"method":"unsubscribeConversations"}"#
            let padded =
                Array(request.utf8) + [UInt8](repeating: 0x20, count: 65_536 - request.utf8.count)
            #expect(try exchange.ask(WebSocketFrame(.text, padded))["id"] == 5)
            let middle = padded.count / 2
            try exchange.connection.send(
                WebSocketFrame(.text, Array(padded[..<middle]), isFinal: false))
            try exchange.connection.send(WebSocketFrame(.ping, [1, 2, 3]))
            try exchange.connection.send(WebSocketFrame(.continuation, Array(padded[middle...])))
            #expect(try exchange.connection.receive() == .pong([1, 2, 3]))
            #expect(try exchange.reply()["id"] == 5)
        }
    }
}
