import TestSupport
import Testing

/// `protocol.md` 2: the upgrade, `connect`, what may come before it, and the ids of requests.
extension DefaultGateway {
    @Suite struct ConnectTests {
        @Test func connectAnswersWithItsFieldsAndNoOthers() throws {
            let gateway = try LiveGateway.get()
            let client = try ChatTestClient(port: gateway.port)
            let result = try client.request(
                "connect", ["user": "née Ünïcode", "client": "tests/1", "unknown": [1]])
            #expect(Shape.welcome.faults(result) == [])
            #expect(result["user"] == "née Ünïcode")
            #expect(result["pingInterval"] == 25)
            #expect(result["limits"]["requests_per_second"] == 5000)
            #expect(result["limits"]["bytes_per_second"] == 4_194_304)
            #expect(result["limits"]["ping_interval"] == 25_000)
            #expect(result["limits"]["reply"] == 1_048_576)
            #expect(result["upstream"]["state"] == "online")
            let other = try ChatTestClient(port: gateway.port).connect(user: "née Ünïcode")
            #expect(other["session"] != result["session"])
        }

        /// The limit is that of somebody whom the gateway does not know.
        @Test(arguments: [(24_576, nil), (24_577, 1009)] as [(Int, UInt16?)])
        func theFirstFrameHasALimitOfItsOwn(size: Int, code: UInt16?) throws {
            let exchange = FrameExchange(
                try WebSocketConnection(port: try LiveGateway.get().port))
            let connect = Self.padded(
                #"{"id":1,"method":"connect","params":{"user":"a"}}"#, to: size)
            try exchange.connection.send(WebSocketFrame(.text, connect))
            if let code {
                #expect(try exchange.connection.waitForClose() == code)
            } else {
                #expect(try exchange.reply()["id"] == 1)
            }
        }

        @Test func aLargeRequestBehindConnectIsAnswered() throws {
            let exchange = FrameExchange(
                try WebSocketConnection(port: try LiveGateway.get().port))
            let connect = #"{"id":1,"method":"connect","params":{"user":"a"}}"#
            let large = Self.padded(
                #"{"id":2,"method":"unsubscribeConversations"}"#, to: 60_000)
            try exchange.connection.send(WebSocketFrame(.text, Array(connect.utf8)))
            try exchange.connection.send(WebSocketFrame(.text, large))
            #expect(try exchange.reply()["id"] == 1)
            #expect(try exchange.reply()["result"] == [:])
        }

        private static func padded(_ request: String, to size: Int) -> [UInt8] {
            Array(request.utf8) + [UInt8](repeating: 0x20, count: size - request.utf8.count)
        }

        @Test(arguments: [
            (nil, nil), ("gapless.v1", "gapless.v1"), ("chat, gapless.v1", "gapless.v1"),
            ("gapless.v2", nil), ("GAPLESS.V1", nil),
        ])
        func theSubprotocolIsTakenIfOfferedAndIgnoredIfUnknown(
            offered: String?, taken: String?
        ) throws {
            let port = try LiveGateway.get().port
            let connection = try WebSocketConnection(port: port, subprotocol: offered)
            let line = "sec-websocket-protocol: "
            let named = connection.upgradeHead.split(separator: "\r\n")
                .first { $0.hasPrefix(line) }.map { String($0.dropFirst(line.count)) }
            #expect(named == taken)
            let exchange = FrameExchange(connection)
            #expect(
                try exchange.ask(#"{"id":1,"method":"connect","params":{"user":"a"}}"#)["id"] == 1)
        }

        @Test(arguments: [
            #"{"id":1,"method":"fetchConversations"}"#,
            #"{"id":1,"method":"sendMessage","params":{"conversation":"c","body":"b"}}"#,
            #"{"id":1,"method":"unsubscribeConversations","params":{}}"#,
        ])
        func anotherRequestBeforeConnectClosesWith3501(frame: String) throws {
            let exchange = try FrameExchange(port: LiveGateway.get().port)
            try exchange.connection.send(text: frame)
            #expect(try exchange.connection.waitForClose() == 3501)
        }

        @Test func aBadFrameBeforeConnectIsAnswered() throws {
            let exchange = try FrameExchange(port: LiveGateway.get().port)
            let answer = try exchange.ask("{")
            #expect(answer["id"] == 0 && answer["error"]["code"] == "bad_request")
            #expect(
                try exchange.ask(#"{"id":1,"method":"connect","params":{"user":"a"}}"#)["id"] == 1)
        }

        @Test func connectNeedsAUserInOpenModeAndMayBeTriedAgain() throws {
            let client = try ChatTestClient(port: LiveGateway.get().port)
            for params: JSONValue in [
                [:], ["user": nil], ["user": ""], ["user": 7], ["user": "a\u{7}b"],
                ["user": .string(String(repeating: "u", count: 256))],
            ] {
                #expect(try client.code("connect", params) == "bad_request", "\(params)")
            }
            let longest = String(repeating: "ü", count: 127) + "u"
            #expect(
                try client.request("connect", ["user": .string(longest)])["user"]
                    == .string(longest))
        }

        @Test func aSecondConnectIsABadRequest() throws {
            let client = try LiveGateway.get().client("alice")
            #expect(try client.code("connect", ["user": "bob"]) == "bad_request")
            #expect(try client.code("unsubscribeConversations") == "ok")
        }

        @Test func theIdIsGivenBackUpToTheLargest() throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            for id in [2, 9_007_199_254_740_991, 4_294_967_296] {
                let answer = try exchange.ask(#"{"id":\#(id),"method":"unsubscribeConversations"}"#)
                #expect(answer == ["id": .int(id), "result": [:]])
            }
            // An id is free again once it was answered.
            let again = try exchange.ask(#"{"id":2,"method":"unsubscribeConversations"}"#)
            #expect(again == ["id": 2, "result": [:]])
        }

        @Test func manyRequestsAtOnceAreEachAnsweredOnce() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 20)
            let client = try gateway.client("alice")
            let sent = try (0..<100).map { number in
                try client.send(
                    number % 2 == 0 ? "fetchMessages" : "fetchConversation",
                    ["conversation": .string(id)])
            }
            for (number, request) in sent.enumerated() {
                let result = try client.result(of: request)
                #expect(result["messages"].isNull == (number % 2 == 1))
            }
        }

        @Test func refreshHasNoPlaceInOpenMode() throws {
            let client = try LiveGateway.get().client("alice")
            #expect(try client.code("refresh", ["token": "a.b.c"]) != "ok")
            #expect(try client.code("refresh") == "bad_request")
            #expect(try client.code("unsubscribeConversations") == "ok")
        }

        @Test(arguments: ["/v1/ws/", "/v1/other", "/", "/v1"])
        func anotherPathIsNoWebSocket(path: String) throws {
            let port = try LiveGateway.get().port
            let refusal = #expect(throws: WebSocketConnection.UpgradeRefused.self) {
                try WebSocketConnection(port: port, path: path)
            }
            #expect(refusal?.status == 404)
        }

        @Test func theInternalListenerSpeaksNoWebSocket() throws {
            let port = try LiveGateway.get().internalPort
            #expect(throws: WebSocketConnection.UpgradeRefused.self) {
                try WebSocketConnection(port: port)
            }
        }
    }
}
