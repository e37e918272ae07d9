import TestSupport
import Testing

/// What passes through the gateway unchanged: text in every spelling of JSON, numbers to the last
/// digit, fields that nobody here knows, also after a restart. And what counts if nothing is said.
extension DefaultGateway {
    @Suite struct FidelityTests {
        @Test func textMeansTheSameHoweverItIsWritten() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let exchange = try FrameExchange(connectedTo: gateway.port)
            for (written, text) in [
                (#"\ud83d\ude00"#, "\u{1F600}"), ("\u{1F600}", "\u{1F600}"),
                (#"\u0000\u001f\u007f\u0080"#, "\u{0}\u{1F}\u{7F}\u{80}"),
                (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"),
                (#"\u2028\u2029"#, "\u{2028}\u{2029}"),
                ("e\u{301} \u{E9}", "e\u{301} \u{E9}"),
                ("\u{FEFF}\u{FFFF}\u{10FFFF}", "\u{FEFF}\u{FFFF}\u{10FFFF}"),
                ("</script>", "</script>"), ("", ""),
            ] {
                // Postgres refuses U+0000.
                if GatewayProcess.upstream == "postgres", text.contains("\u{0}") { continue }
                let params = #"{"conversation":"\#(id)","body":"\#(written)"}"#
                let answer = try exchange.ask(FrameExchange.request("sendMessage", params))
                let body = answer["result"]["message"]["body"].string
                #expect(
                    body.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars),
                    "\(written)")
            }
        }

        @Test func numbersKeepEveryDigit() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let exchange = try FrameExchange(connectedTo: gateway.port)
            let metadata = #"{"a":12345678901234567890123,"b":1.0,"c":1E5,"d":-0,"e":0.1000}"#
            let params = #"{"conversation":"\#(id)","metadata":\#(metadata)}"#
            try exchange.connection.send(text: FrameExchange.request("sendMessage", params))
            guard case .text(let answer)? = try exchange.connection.receive() else {
                throw TestFailure("no answer")
            }
            #expect(String(decoding: answer, as: UTF8.self).contains(metadata))
            let page = try gateway.api().http.send("GET", "/v1/conversations/\(id)/messages")
            #expect(page.text.contains(metadata))
        }

        @Test func integersMayBeWrittenAsAnyNumberThatIsOne() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 12)
            let exchange = try FrameExchange(connectedTo: gateway.port)
            for limit in ["10", "10.0", "1e1", "100E-1"] {
                let params = #"{"conversation":"\#(id)","limit":\#(limit),"cached":false}"#
                let answer = try exchange.ask(
                    FrameExchange.request("fetchMessages", params, id: "5.0"))
                #expect(
                    answer["id"] == 5 && answer["result"]["messages"].seqs.count == 10, "\(limit)")
            }
        }

        @Test func unknownFieldsOfAConversationReachRepliesAndEvents() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = LiveGateway.name("c")
            let extra: JSONValue = ["nested": [1, nil, ["a": true]]]
            try api.put(id, ["participants": ["alice"], "color": "red", "extra": extra])
            let client = try gateway.client("alice")
            let params: JSONValue = ["conversation": .string(id)]
            let answer = try client.request("subscribeMessages", params)
            let fetched = try client.request("fetchConversation", params)["conversation"]
            try client.request(
                "updateConversation", ["conversation": .string(id), "color": "blue"])
            let event = try client.nextEvent("conversation")["conversation"]
            for (view, color) in [
                (answer["conversation"], "red"), (fetched, "red"), (event, "blue"),
                (try api.conversation(id), "blue"),
            ] {
                #expect(view["color"] == .string(color) && view["extra"] == extra)
            }
        }

        @Test func idsAreComparedByTheirBytes() throws {
            let gateway = try LiveGateway.get()
            let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
            let id = try gateway.conversation(of: [composed])
            #expect(
                try gateway.client(composed).code("fetchMessages", ["conversation": .string(id)])
                    == "ok")
            #expect(
                try gateway.client(decomposed).code("fetchMessages", ["conversation": .string(id)])
                    == "not_found")
        }

        @Test func aHundredIsTheDefaultOfEveryList() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let id = try gateway.conversation(of: [user], messages: 101)
            for _ in 0..<100 { _ = try gateway.conversation(of: [user]) }
            let client = try gateway.client(user)
            let params: JSONValue = ["conversation": .string(id)]
            let page = try client.request("fetchMessages", params)
            #expect(page["messages"].seqs == (2...101).reversed())
            #expect(page["hasMore"] == ["before": true, "after": false])
            #expect(try client.request("subscribeMessages", params)["covers"] == [[2, 101]])
            let list = try client.request("fetchConversations")
            #expect(list["conversations"].array?.count == 100 && list["total"] == 101)
            #expect(list["next"].string != nil)
            let changes = try client.request("subscribeConversations")
            #expect(changes["conversations"].array?.count == 100 && changes["total"] == 101)
            let api = gateway.api()
            #expect(try api.page(id, "")["messages"].seqs == (2...101).reversed())
            let log = try api.call("GET", "/v1/conversations/\(id)/changes")
            #expect((log["messages"].array?.count ?? 0) <= 100 && log["more"] == true)
            let listed = try api.call("GET", "/v1/conversations?user=\(user)")
            #expect(listed["conversations"].array?.count == 100)
        }

        @Test func theSameIdSentManyTimesAtOnceIsOneMessage() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let clients = try (0..<4).map { _ in try gateway.client("alice") }
            let params: JSONValue = ["conversation": .string(id), "id": "x", "body": "b"]
            let sent = try clients.map { client in
                try (0..<10).map { _ in try client.send("sendMessage", params) }
            }
            var messages: Set<JSONValue> = []
            for (client, ids) in zip(clients, sent) {
                for id in ids { messages.insert(try client.result(of: id)["message"]) }
            }
            #expect(messages.count == 1)
            #expect(try gateway.api().conversation(id)["head"]["seq"] == 1)
        }

        @Test func aCloseIsAnsweredWithItsCode() throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            try exchange.connection.sendClose(code: 1000)
            #expect(try exchange.connection.waitForClose() == 1000)
        }
    }

    /// The page at `/`, which belongs to the program's source tree.
    @Suite struct PageTests {
        @Test func thePageIsServedWithItsModules() throws {
            let http = try LiveGateway.get().http()
            let page = try http.send("GET", "/")
            #expect(page.status == 200)
            #expect(page.headers["content-type"]?.hasPrefix("text/html") == true)
            #expect(page.text.lowercased().contains("<!doctype html>"))
            let module = try http.send("GET", "/gapless.js")
            #expect(module.status == 200)
            #expect(module.headers["content-type"]?.hasPrefix("text/javascript") == true)
            let tag = try #require(module.headers["etag"])
            let again = try http.send("GET", "/gapless.js", headers: ["If-None-Match": tag])
            #expect(again.status == 304 && again.body.isEmpty)
            #expect(try http.send("HEAD", "/").body.isEmpty)
            #expect(try http.send("POST", "/").status == 405)
        }

        @Test(arguments: [
            "/../Package.swift", "/%2e%2e/Package.swift", "/..%2fPackage.swift", "/.git/config",
            "/none.js", "//", "/index.html/", "/components",
        ])
        func nothingElseIsServed(path: String) throws {
            let response = try LiveGateway.get().http().send("GET", path)
            #expect(response.status == 404 && Shape.error.faults(response.json["error"]) == [])
        }

        @Test func thePageCanBeTurnedOff() throws {
            let gateway = try GatewayProcess(settings: ["page.enabled": "false"])
            #expect(try HTTPConnection(port: gateway.port).send("GET", "/").status == 404)
        }
    }
}
