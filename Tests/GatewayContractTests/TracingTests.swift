import TestSupport
import Testing

/// `traceparent`: a header of the server API and a param of `connect`, kept with operations, shown
/// by `explain` and the log, and never sent to anybody.
@Suite struct TracingTests {
    private static func trace(_ number: Int) -> String {
        "00-4bf92f3577b34da6a3ce929d0e0e47\(10 + number)-00f067aa0ba902b7-01"
    }

    private let gateway: GatewayProcess
    private let room = LiveGateway.name("traced")

    init() throws { gateway = try GatewayProcess(settings: ["log.level": "debug"]) }

    private func send(
        _ trace: String, _ method: String, _ path: String, _ json: JSONValue
    ) throws -> HTTPConnection.Response {
        let http = HTTPConnection(port: gateway.port)
        http.standingHeaders = ["X-API-Key": GatewayProcess.apiKey, "traceparent": trace]
        return try http.send(method, path, json: json)
    }

    /// The line of the log with the words, once it is there.
    private func line(with words: String...) throws -> String {
        var line: Substring?
        _ = Deadline.standard.poll {
            line = gateway.log.split(separator: "\n").first { line in
                words.allSatisfy(line.contains)
            }
            return line != nil
        }
        return String(try #require(line, "no line of the log has \(words)"))
    }

    private func steps(_ query: String) throws -> [JSONValue] {
        try gateway.health("/explain?conversation=\(room)&\(query)").json["steps"].array ?? []
    }

    @Test func theServerAPIsTraceIsShownByExplainAndTheLogAndToNobodyElse() throws {
        try gateway.api().put(room, ["participants": ["alice", "bob"]])
        let bob = try gateway.client("bob")
        try bob.subscribe(room)
        let path = "/v1/conversations/\(room)/messages"
        let message: JSONValue = ["id": "m1", "author": "alice", "body": "x"]
        let sent = try send(Self.trace(1), "POST", path, message)
        #expect(sent.status == 201 && !sent.text.contains("4bf92f"))
        let event = try bob.nextEvent("messages")
        #expect(!String(decoding: event.bytes, as: UTF8.self).contains("4bf92f"))
        let traced = try steps("id=m1").first { $0["what"] == "trace" }
        #expect(traced?["traceparent"] == .string(Self.trace(1)))
        #expect(try line(with: Self.trace(1)).contains("event=traced_write_done"))
        // Refused by the origin, and before it is asked.
        let taken: JSONValue = ["id": "m1", "author": "bob", "body": "x"]
        #expect(try send(Self.trace(2), "POST", path, taken).status == 409)
        let conflict = try line(with: Self.trace(2))
        #expect(conflict.contains("event=traced_request_refused"))
        #expect(conflict.contains("code=conflict reason=message_id_taken"))
        #expect(conflict.contains("level=info") && conflict.contains("path=\(path)"))
        #expect(try send(Self.trace(3), "POST", path, ["body": "secret"]).status == 400)
        let bad = try line(with: Self.trace(3))
        #expect(bad.contains("code=bad_request") && !bad.contains("secret"))
    }

    @Test(arguments: ["x", "00-\(String(repeating: "0", count: 32))-00f067aa0ba902b7-01", ""])
    func aHeaderThatIsNoneIsIgnored(header: String) throws {
        let answer = try send(
            header, "PUT", "/v1/conversations/\(room)", ["participants": ["alice"]])
        #expect(answer.status == 201)
        let message: JSONValue = ["id": "m1", "author": "alice", "body": "x"]
        #expect(
            try send(header, "POST", "/v1/conversations/\(room)/messages", message).status == 201)
        #expect(try !steps("id=m1").isEmpty)
        #expect(try !steps("id=m1").contains { $0["what"] == "trace" })
    }

    @Test func aConnectionsTraceIsShownWithWhatItWritesAndWithWhatIsRefused() throws {
        try gateway.api().put(room, ["participants": ["alice", "bob"]])
        let bob = try gateway.client("bob")
        try bob.subscribe(room)
        let alice = try ChatTestClient(port: gateway.port)
        let params: JSONValue = ["user": "alice", "traceparent": .string(Self.trace(4))]
        let welcome = try alice.request("connect", params)
        #expect(!String(decoding: welcome.bytes, as: UTF8.self).contains("4bf92f"))
        _ = try alice.request(
            "sendMessage", ["conversation": .string(room), "id": "m1", "body": "x"])
        let event = try bob.nextEvent("messages")
        #expect(!String(decoding: event.bytes, as: UTF8.self).contains("4bf92f"))
        let traced = try steps("id=m1").first { $0["what"] == "trace" }
        #expect(traced?["traceparent"] == .string(Self.trace(4)))
        #expect(throws: ChatTestClient.RequestFailed.self) {
            try alice.request("deleteMessage", ["conversation": .string(room), "id": "m2"])
        }
        let line = try line(with: "method=deleteMessage", Self.trace(4))
        #expect(line.contains("code=not_found") && line.contains("user=alice"))
        #expect(line.contains("conversation=\(room)"))
        #expect(!gateway.log.contains("user=bob"))
    }

    @Test func aParamThatIsNoneIsRefusedAndTheConnectionMayTryAgain() throws {
        let client = try ChatTestClient(port: gateway.port)
        let error = #expect(throws: ChatTestClient.RequestFailed.self) {
            try client.request("connect", ["user": "alice", "traceparent": "00-xyzzy"])
        }
        #expect(error?.code == "bad_request")
        #expect(error?.message.hasPrefix("params.traceparent: ") == true)
        #expect(error?.message.contains("xyzzy") == false)
        let good: JSONValue = ["user": "alice", "traceparent": .string(Self.trace(5))]
        #expect(try client.request("connect", good)["user"] == "alice")
    }
}
