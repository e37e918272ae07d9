import Foundation
import TestSupport
import Testing

/// `auth.mode: jwt` of `protocol.md` 2 and 8, with HS256: where the token comes from, whom it is
/// believed, how long, and with which code it is refused.
@Suite struct TokenTests {
    /// A gateway that believes tokens signed with the secret of `TestToken`.
    private func gateway(_ more: [String: String] = [:]) throws -> GatewayProcess {
        let gateway = try GatewayProcess(settings: ["auth.mode": "jwt"], starts: false)
        let file = gateway.directory.appendingPathComponent("secret")
        try Data(TestToken.secret.utf8).write(to: file)
        gateway.settings["auth.jwt.secret_file"] = file.path
        gateway.settings.merge(more) { _, given in given }
        try gateway.start()
        return gateway
    }

    /// How the gateway receives a token: the user, or the code that it closes with.
    private func outcome(
        _ gateway: GatewayProcess, params: JSONValue = [:], headers: [String: String] = [:],
        query: String = ""
    ) throws -> String {
        let connection = try WebSocketConnection(
            port: gateway.port, path: "/v1/ws\(query)", headers: headers)
        let request: JSONValue = ["id": 1, "method": "connect", "params": params]
        try connection.send(WebSocketFrame(.text, request.bytes))
        while let incoming = try connection.receive() {
            switch incoming {
            case .text(let bytes):
                let answer = try JSONValue(parsing: bytes)
                if let user = answer["result"]["user"].string { return user }
                // Before the close it may say why; never with the token in it.
                #expect(answer["error"]["code"] == "unauthorized")
            case .closed(let code, _): return String(code ?? 0)
            case .ended: return "ended"
            case .binary, .ping, .pong: break
            }
        }
        return "silence"
    }

    @Test func theTokenComesByParamsHeaderOrQuery() throws {
        let gateway = try gateway()
        let (a, b) = (TestToken(user: "née").text, TestToken(user: "bob").text)
        let bearer = ["Authorization": "Bearer \(a)"]
        #expect(try outcome(gateway, params: ["token": .string(a)]) == "née")
        #expect(try outcome(gateway, headers: bearer) == "née")
        #expect(try outcome(gateway, query: "?token=\(a)") == "née")
        #expect(try outcome(gateway, query: "?x=1&token=\(a)&y") == "née")
        // Params win, also over a good one.
        #expect(try outcome(gateway, params: ["token": .string(b)], headers: bearer) == "bob")
        #expect(try outcome(gateway, params: ["token": .string(b)], query: "?token=\(a)") == "bob")
        #expect(try outcome(gateway, params: ["token": "bad"], headers: bearer) == "3500")
        // A name is for open mode only.
        #expect(try outcome(gateway, params: ["user": "eve", "token": .string(b)]) == "bob")
        #expect(try outcome(gateway, params: ["user": "eve"]) == "3500")
        #expect(try outcome(gateway) == "3500")
        #expect(!gateway.log.contains(a) && !gateway.log.contains("eyJ"))
    }

    @Test func expiredIs3001AndEverythingElse3500() throws {
        let gateway = try gateway(["auth.jwt.issuer": "us", "auth.jwt.audience": "chat"])
        let good = TestToken(user: "alice").with("iss", "us").with("aud", "chat")
        func seen(_ change: (inout TestToken) -> Void) throws -> String {
            var token = good
            change(&token)
            return try outcome(gateway, params: ["token": .string(token.text)])
        }
        let now = TestToken.now
        let rows: [(String, (inout TestToken) -> Void)] = [
            ("alice", { _ in }), ("alice", { $0 = $0.with("aud", ["other", "chat"]) }),
            ("alice", { $0 = $0.with("extra", [1]) }),
            ("alice", { $0.header = ["alg": "HS256"] }),
            // Within the leeway of 30 s on either side.
            ("alice", { $0 = $0.with("exp", .int(now - 10)) }),
            ("alice", { $0 = $0.with("nbf", .int(now + 10)) }),
            ("3001", { $0 = $0.with("exp", .int(now - 40)) }),
            ("3001", { $0 = $0.with("exp", 1) }),
            ("3500", { $0 = $0.with("exp", nil) }),
            ("3500", { $0 = $0.with("exp", .string("\(now + 100)")) }),
            ("3500", { $0 = $0.with("sub", nil) }), ("3500", { $0 = $0.with("sub", 7) }),
            ("3500", { $0 = $0.with("sub", "") }), ("3500", { $0 = $0.with("sub", "a\u{1}") }),
            ("3500", { $0 = $0.with("iss", "them") }), ("3500", { $0 = $0.with("iss", nil) }),
            ("3500", { $0 = $0.with("aud", "other") }), ("3500", { $0 = $0.with("aud", nil) }),
            ("3500", { $0 = $0.with("nbf", .int(now + 100)) }),
            ("3500", { $0.secret = "another secret, which is as long as that" }),
            ("3500", { $0.header = ["alg": "none"] }), ("3500", { $0.header = ["alg": "HS512"] }),
            ("3500", { $0.header = ["alg": "RS256"] }), ("3500", { $0.header = ["typ": "JWT"] }),
            ("3500", { $0.header["crit"] = ["exp"] }), ("3500", { $0.header["crit"] = ["x"] }),
            // Expired and wrong is wrong.
            (
                "3500",
                {
                    $0 = $0.with("exp", 1)
                    $0.secret = "another secret, which is as long as that"
                }
            ),
        ]
        for (number, (expected, change)) in rows.enumerated() {
            #expect(try seen(change) == expected, "row \(number)")
        }
    }

    @Test func aTokenIsReadStrictly() throws {
        let gateway = try gateway()
        let good = TestToken(user: "alice").text
        let parts = good.split(separator: ".").map(String.init)
        for text in [
            "", ".", "..", parts[0], "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).",
            good + "=", good + ".", good + ".x", " " + good, good + "\n",
            "\(parts[0])==.\(parts[1]).\(parts[2])",
            "\(parts[0]).\(parts[1]).\(parts[2].dropLast())", String(repeating: "a", count: 20_000),
            "\(TestToken.base64(Array("[]".utf8))).\(parts[1]).\(parts[2])",
        ] {
            #expect(
                try outcome(gateway, params: ["token": .string(text)]) == "3500",
                "\(text.prefix(40))")
        }
        #expect(try outcome(gateway, params: ["token": .string(good)]) == "alice")
        let notText: JSONValue = ["id": 1, "method": "connect", "params": ["token": 7]]
        let exchange = try FrameExchange(port: gateway.port)
        #expect(try exchange.ask(notText.description)["error"]["code"] == "bad_request")
    }

    @Test func refreshTakesANewTokenOfTheSameUser() throws {
        let gateway = try gateway()
        let client = try ChatTestClient(port: gateway.port)
        try client.connect(user: "alice", token: TestToken(user: "alice", expiresIn: 600).text)
        let new = TestToken(user: "alice", expiresIn: 1200)
        let result = try client.request("refresh", ["token": .string(new.text)])
        #expect(Shape(["expiresAt": .moment]).faults(result) == [])
        let expires = try #require(new.claims["exp"].int)
        let moment = Date(timeIntervalSince1970: Double(expires)).formatted(.iso8601)
        #expect(result["expiresAt"].string?.prefix(19) == moment.prefix(19))
        var other = TestToken(user: "alice")
        other.secret = "another secret, which is as long as that"
        for (token, codes) in [
            (TestToken(user: "bob").text, ["forbidden", "unauthorized"]),
            (other.text, ["unauthorized"]), ("nonsense", ["unauthorized"]),
            (TestToken(user: "alice", expiresIn: -100).text, ["unauthorized"]),
        ] {
            #expect(codes.contains(try client.code("refresh", ["token": .string(token)])))
        }
        #expect(try client.code("refresh") == "bad_request")
        #expect(try client.code("unsubscribeConversations") == "ok")
    }

    @Test func aTokenThatRunsOutWhileConnectedClosesWith3001UnlessRefreshed() throws {
        let gateway = try gateway(["auth.jwt.leeway": "0s"])
        let short = TestToken(user: "alice", expiresIn: 4)
        let (kept, lost) = (
            try ChatTestClient(port: gateway.port), try ChatTestClient(port: gateway.port)
        )
        try kept.connect(user: "alice", token: short.text)
        try lost.connect(user: "alice", token: short.text)
        try kept.request("refresh", ["token": .string(TestToken(user: "alice").text)])
        #expect(try lost.wait { $0.connection.hasEnded })
        #expect(lost.connection.closeCode == 3001)
        #expect(TestToken.now >= (short.claims["exp"].int ?? 0))
        #expect(try kept.code("unsubscribeConversations") == "ok")
    }

    @Test func theLeewayHoldsWhileConnectedToo() throws {
        let gateway = try gateway(["auth.jwt.leeway": "4s"])
        let client = try ChatTestClient(port: gateway.port)
        // Over already, but for the leeway.
        let token = TestToken(user: "alice", expiresIn: 0)
        try client.connect(user: "alice", token: token.text)
        #expect(try client.wait { $0.connection.hasEnded })
        #expect(client.connection.closeCode == 3001)
        #expect(TestToken.now >= (token.claims["exp"].int ?? 0) + 4)
    }

    @Test func theProgramsOwnTokenIsTaken() throws {
        let gateway = try gateway()
        let program = try CommandRun(
            "gentoken", "--user", "carol", "--ttl", "60s", "--secret-file",
            gateway.settings["auth.jwt.secret_file"] ?? "")
        #expect(program.status == 0)
        let token = try #require(program.output.split(separator: "\n").first)
        #expect(try outcome(gateway, params: ["token": .string(String(token))]) == "carol")
    }

    @Test func aSignedInUserIsHeldToTheSameRules() throws {
        let gateway = try gateway()
        let client = try ChatTestClient(port: gateway.port)
        try client.connect(user: "alice", token: TestToken(user: "alice").text)
        let id = try client.request("createConversation", ["participants": ["bob"]])[
            "conversation"][
                "id"]
        // With tokens clients take no ids but their own.
        let taken: JSONValue = ["id": "of-others", "participants": []]
        #expect(try client.code("createConversation", taken) == "forbidden")
        #expect(
            try client.code("createConversation", ["id": "alice:1", "participants": []]) == "ok")
        let stranger = try ChatTestClient(port: gateway.port)
        try stranger.connect(user: "eve", token: TestToken(user: "eve").text)
        #expect(try stranger.code("fetchMessages", ["conversation": id]) == "not_found")
        #expect(try client.code("fetchMessages", ["conversation": id]) == "ok")
    }
}
