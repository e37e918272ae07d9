import TestSupport
import Testing

/// Requests that are wrong, over HTTP: each gets its status and an error in the one form that all
/// errors have, and the next request is answered.
extension DefaultGateway {
    @Suite struct MalformedHTTPTests {
        /// A request that is refused. In paths `@` stands for a conversation with two messages.
        struct Bad: Sendable, CustomTestStringConvertible {
            var method: String
            var path: String
            var body: String
            var status: Int
            var code: String

            init(
                _ method: String, _ path: String, _ body: String = "", _ status: Int = 400,
                _ code: String = "bad_request"
            ) {
                self.method = method
                self.path = path
                self.body = body
                self.status = status
                self.code = code
            }

            var testDescription: String { "\(method) \(path) \(body.prefix(60))" }
        }

        static let conversations: [Bad] = [
            .init("PUT", "@", "{"), .init("PUT", "@", "[]"), .init("PUT", "@", "7"),
            .init("PUT", "@", "null"), .init("PUT", "@", #"{"title":7}"#),
            .init("PUT", "@", #"{"participants":"alice"}"#),
            .init("PUT", "@", #"{"participants":[7]}"#),
            .init("PUT", "@", #"{"participants":[""]}"#),
            .init("PUT", "@", #"{"participants":["a\u0001"]}"#),
            .init("PUT", "@", #"{"admins":{}}"#), .init("PUT", "@", #"{"admins":["stranger"]}"#),
            .init("PUT", "@", #"{"metadata":[]}"#), .init("PUT", "@", #"{"title":"\ud800"}"#),
            .init("PUT", "@", #"{"title":"a"} x"#),
            .init("GET", "/v1/conversations"), .init("GET", "/v1/conversations?user="),
            .init("GET", "/v1/conversations?user=a&limit=0"),
            .init("GET", "/v1/conversations?user=a&limit=1001"),
            .init("GET", "/v1/conversations?user=a&limit=ten"),
            .init("GET", "/v1/conversations?user=a&cursor=nonsense"),
            .init("GET", "/v1/conversations?user=%zz"), .init("GET", "/v1/conversations?user=%ff"),
            .init("GET", "/v1/conversations/%"), .init("GET", "/v1/conversations/%00"),
            .init("GET", "/v1/conversations/a%0Ab"), .init("GET", "/v1/conversations/%c0%af"),
            .init("PUT", "@/participants/bob", "{"), .init("PUT", "@/participants/bob", "[]"),
            .init("PUT", "@/participants/bob", #"{"name":7}"#),
            .init("PUT", "@/participants/%07"), .init("GET", "@/participants?limit=x"),
            .init("GET", "@/participants?limit=1&offset=-1"),
            .init("GET", "@/participants?order_by=name"), .init("GET", "@/participants?order=up"),
            .init("POST", "/v1/users/alice/disconnect", #"{"reconnect":"yes"}"#),
            .init("POST", "/v1/users/alice/disconnect", "{"),
            .init("POST", "/v1/users/alice/disconnect", "[]"),
        ]

        static let messages: [Bad] = [
            .init("POST", "@/messages"), .init("POST", "@/messages", "{"),
            .init("POST", "@/messages", "7"), .init("POST", "@/messages", #""text""#),
            .init("POST", "@/messages", "{}"), .init("POST", "@/messages", #"{"body":"b"}"#),
            .init("POST", "@/messages", #"{"author":7,"body":"b"}"#),
            .init("POST", "@/messages", #"{"author":"","body":"b"}"#),
            .init("POST", "@/messages", #"{"author":"a","body":7}"#),
            .init("POST", "@/messages", #"{"author":"a"}"#),
            .init("POST", "@/messages", #"{"author":"a","body":"b","id":7}"#),
            .init("POST", "@/messages", #"{"author":"a","body":"b","id":"a\tb"}"#),
            .init("POST", "@/messages", #"{"author":"a","body":"b","metadata":7}"#),
            .init("POST", "@/messages", #"[7]"#), .init("POST", "@/messages", "[[]]"),
            .init("POST", "@/messages", #"{"author":"b","body":"b","id":"m1"}"#, 409, "conflict"),
            .init(
                "POST", "@/messages",
                #"{"author":"a","body":""# + String(repeating: "a", count: 32_769) + #""}"#, 413,
                "too_large"),
            .init("PATCH", "@/messages/m1"), .init("PATCH", "@/messages/m1", "[]"),
            .init("PATCH", "@/messages/m1", #"{"body":7}"#),
            .init("PATCH", "@/messages/m1", #"{"metadata":"m"}"#),
            .init("GET", "@/messages?limit=0"), .init("GET", "@/messages?limit=1001"),
            .init("GET", "@/messages?limit=1e2"), .init("GET", "@/messages?order=up"),
            .init("GET", "@/messages?before=x"), .init("GET", "@/messages?before=-1"),
            .init("GET", "@/messages?after=id:"), .init("GET", "@/messages?after=time:noon"),
            .init("GET", "@/messages?around=1&before=2"),
            .init("GET", "@/messages?before=99999999999999999999"),
            .init("GET", "@/changes?since=-1"), .init("GET", "@/changes?since=1.5"),
            .init("GET", "@/changes?since=99", "", 409, "conflict"),
            .init("POST", "/v1/heads"), .init("POST", "/v1/heads", "{}"),
            .init("POST", "/v1/heads", #"{"ids":"c"}"#),
            .init("POST", "/v1/heads", #"{"ids":[7]}"#),
            .init("POST", "/v1/heads", #"{"ids":[""]}"#), .init("POST", "/v1/heads", "[]"),
        ]

        static let notThere: [Bad] =
            [
                "/v1", "/v1/", "/v1/nothing", "/v1/conversations/none",
                "/v1/conversations/none/messages",
                "/v1/conversations/none/changes", "/v1/conversations/none/participants",
                "/v1/conversations/none/boundaries", "@/nothing", "@/messages/none",
                "@/messages/m1/x",
                "@//messages", "@/messages?before=id:none", "/v2/conversations", "/health",
                "/metrics",
                "/v1/users/alice", "/v1/heads/x",
            ].map { .init("GET", $0, "", 404, "not_found") } + [
                .init("PATCH", "@/messages/none", #"{"body":"b"}"#, 404, "not_found"),
                .init("DELETE", "@/messages/none", "", 404, "not_found"),
                .init("DELETE", "/v1/conversations/none", "", 404, "not_found"),
                .init(
                    "POST", "/v1/conversations/none/messages", #"{"author":"a","body":"b"}"#, 404,
                    "not_found"),
                .init("PUT", "/v1/conversations/none/participants/a", "{}", 404, "not_found"),
            ]

        static let otherMethods: [Bad] = [
            ("POST", "@"), ("PATCH", "@"), ("POST", "/v1/conversations"), ("PUT", "@/messages"),
            ("DELETE", "@/messages"), ("POST", "@/messages/m1"), ("PUT", "@/messages/m1"),
            ("POST", "@/changes"), ("GET", "/v1/heads"), ("POST", "@/participants"),
            ("GET", "@/participants/a"), ("POST", "@/boundaries"), ("POST", "/v1/gaps"),
            ("GET", "/v1/users/alice/disconnect"), ("TRACE", "@"), ("BREW", "/v1/gaps"),
            ("POST", "/v1/ws"),
        ].map { .init($0, $1, "", 405, "bad_request") }

        static let all = conversations + messages + notThere + otherMethods

        @Test func theTableIsLongEnough() { #expect(Self.all.count >= 40) }

        @Test(arguments: all)
        func aBadRequestIsRefusedAndTheNextAnswered(_ bad: Bad) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 2)
            let api = gateway.api()
            let before = try api.conversation(id)
            let path =
                bad.path.hasPrefix("@")
                ? "/v1/conversations/\(id)\(bad.path.dropFirst())" : bad.path
            let answer = try api.http.send(bad.method, path, body: Array(bad.body.utf8))
            #expect(answer.status == bad.status)
            #expect(Set((answer.json.object ?? [:]).keys) == ["error"])
            #expect(Shape.error.faults(answer.json["error"]) == [])
            #expect(answer.json["error"]["code"] == .string(bad.code))
            #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true)
            if bad.status == 405 { #expect(answer.headers["allow"]?.isEmpty == false) }
            #expect(try api.conversation(id) == before)
        }

        /// Bytes that are no HTTP that this server speaks, and the status of the answer.
        static let raw: [(String, Int)] = [
            ("nonsense\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
            ("GET / HTTP/1.1\nHost: a\n\n\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("POST /v1/heads HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n", 401),
            (
                "POST /v1/heads HTTP/1.1\r\nHost: a\r\nX-API-Key: \(GatewayProcess.apiKey)\r\n"
                    + "Content-Length: 999999999\r\n\r\n", 413
            ),
            (String(repeating: "\r\n", count: 5) + "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ]

        @Test(arguments: raw.indices)
        func whatIsNoRequestIsRefusedInTheSameForm(row: Int) throws {
            let gateway = try LiveGateway.get()
            let (text, status) = Self.raw[row]
            let answer = String(
                decoding: try HTTPConnection.raw(
                    port: gateway.port, Array(text.utf8), deadline: .standard), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(100))")
            let body = answer.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
            let json = try JSONValue(parsing: Array(body.utf8))
            #expect(Shape.error.faults(json["error"]) == [])
        }

        @Test func anUpgradeIsNeededOnTheWebSocketPath() throws {
            let answer = try LiveGateway.get().http().send("GET", "/v1/ws")
            #expect(answer.status == 426 && answer.headers["upgrade"] == "websocket")
            #expect(answer.headers["connection"] == "Upgrade")
            #expect(Shape.error.faults(answer.json["error"]) == [])
        }
    }
}
