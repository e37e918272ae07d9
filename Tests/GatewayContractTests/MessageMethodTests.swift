import TestSupport
import Testing

/// `protocol.md` 3, `sendMessage`, `editMessage` and `deleteMessage`: what is stored, what comes
/// back, ids that are sent again, and tombstones.
extension DefaultGateway {
    @Suite struct MessageMethodTests {
        @Test func aConditionalChangeOfAnotherValueIsAConflictThatShowsIt() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let exchange = try FrameExchange(connectedTo: gateway.port)
            func error(_ method: String, _ params: String) throws -> JSONValue {
                let params = params.replacing("@", with: id)
                try exchange.connection.send(
                    text: #"{"id":5,"method":"\#(method)","params":\#(params)}"#)
                return try exchange.reply()["error"]
            }
            let edit = try error(
                "editMessage", #"{"conversation":"@","id":"m1","body":"x","ifRev":7}"#)
            #expect(edit["code"] == "conflict" && edit["retry"] == "never")
            #expect(edit["reason"] == "rev_changed")
            #expect(edit["current"]["message"]["rev"] == 2)
            let delete = try error("deleteMessage", #"{"conversation":"@","id":"m1","ifRev":7}"#)
            #expect(delete["current"]["message"]["body"] == "text 1")
            let update = try error(
                "updateConversation", #"{"conversation":"@","title":"x","ifRev":2}"#)
            #expect(update["current"]["conversation"]["rev"] == 1)
            #expect(update["current"]["conversation"]["lastReadSeq"] == 1)
            let http = try gateway.api().http.send(
                "DELETE", "/v1/conversations/\(id)/messages/m1?ifRev=1")
            #expect(http.status == 409 && http.json["error"]["current"]["message"]["rev"] == 2)
            let gone = try gateway.api().http.send(
                "DELETE", "/v1/conversations/\(id)/messages/m1?ifRev=2")
            #expect(gone.status == 200 && gone.json["message"]["deleted"] == true)
        }

        @Test func aSentMessageComesBackAsItIsStored() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let client = try gateway.client("alice")
            // Postgres refuses U+0000.
            let odd = GatewayProcess.upstream == "postgres" ? "\u{1}" : "\u{0}"
            let body = JSONValue.string("hi \u{1F600} \(odd)\n\"")
            let result = try client.request(
                "sendMessage",
                [
                    "conversation": .string(id), "id": "first", "body": body,
                    "attachment": ["kind": "image", "size": 12.5], "metadata": ["k": [1, nil]],
                ])
            let message = result["message"]
            #expect(Set((result.object ?? [:]).keys) == ["message", "head"])
            #expect(Shape.message.faults(message) == [])
            #expect(message["id"] == "first" && message["conversation"] == .string(id))
            #expect(message["seq"] == 1 && message["rev"] == 2 && message["author"] == "alice")
            #expect(message["body"] == body)
            #expect(message["attachment"] == ["kind": "image", "size": 12.5])
            #expect(message["metadata"] == ["k": [1, nil]] && message["editedAt"] == .null)
            let page = try gateway.client("bob").request(
                "fetchMessages", ["conversation": .string(id)])
            #expect(page["messages"] == [message])
        }

        @Test func aMessageWithoutAnIdGetsOneOfItsOwn() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            var ids: Set<String> = []
            for number in 1...20 {
                let message = try client.request(
                    "sendMessage", ["conversation": .string(id), "body": "same"])["message"]
                #expect(Shape.message.faults(message) == [])
                #expect(message["seq"] == .int(number) && message["metadata"] == [:])
                ids.insert(message["id"].string ?? "")
            }
            #expect(ids.count == 20)
        }

        @Test(
            arguments: [
                ["body": "b"], ["body": ""], ["attachment": ["a": 1]], ["metadata": ["m": 1]],
            ] as [JSONValue])
        func anyPartOfTheContentIsEnough(content: JSONValue) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            var params = content
            params["conversation"] = .string(id)
            let message = try gateway.client("alice").request("sendMessage", params)["message"]
            #expect(message["body"] == content["body"])
            #expect(message["attachment"] == content["attachment"])
            #expect(message["metadata"] == (content["metadata"].isNull ? [:] : content["metadata"]))
        }

        @Test func theSameIdAgainIsTheSameMessageAsItIsNow() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let client = try gateway.client("alice")
            func send(_ content: JSONValue) throws -> JSONValue {
                var params = content
                params["conversation"] = .string(id)
                params["id"] = "x"
                return try client.request("sendMessage", params)["message"]
            }
            let content: JSONValue = ["body": "one", "metadata": ["a": 1, "b": 2]]
            let first = try send(content)
            #expect(try send(content) == first)
            #expect(try send(["body": "one", "metadata": ["b": 2, "a": 1]]) == first)
            let edited = try client.request(
                "editMessage", ["conversation": .string(id), "id": "x", "body": "two"])["message"]
            // What counts is what was first sent, not what it is now.
            #expect(try send(content) == edited)
            #expect(throws: ChatTestClient.RequestFailed.self) {
                try send(["body": "two", "metadata": ["a": 1, "b": 2]])
            }
            let deleted = try client.request(
                "deleteMessage", ["conversation": .string(id), "id": "x"])["message"]
            #expect(try send(content) == deleted)
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            #expect(head["seq"] == 1 && head["rev"] == 4)
        }

        @Test func anIdThatIsTakenIsAConflict() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let other = try gateway.conversation(of: ["alice", "bob"])
            let client = try gateway.client("alice")
            let mine: JSONValue = ["conversation": .string(id), "id": "x", "body": "one"]
            #expect(try client.code("sendMessage", mine) == "ok")
            for change: JSONValue in [
                ["body": "two"], ["body": "one", "metadata": ["a": 1]],
                ["body": "one", "attachment": [:]], ["body": "one", "extra": true],
            ] {
                var params = mine
                for (name, value) in change.object ?? [:] { params[name] = value }
                #expect(try client.code("sendMessage", params) == "conflict", "\(change)")
            }
            #expect(try gateway.client("bob").code("sendMessage", mine) == "conflict")
            var elsewhere = mine
            elsewhere["conversation"] = .string(other)
            #expect(try client.code("sendMessage", elsewhere) == "ok")
        }

        @Test func unknownFieldsOfAMessageAreKept() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let api = gateway.api()
            let posted = try api.post(
                [
                    "id": "x", "author": "bob", "body": "b", "thread": ["root": "r1"],
                    "priority": 7, "flags": [true, nil], "émoji": "ü",
                ], to: id)
            let shape = Shape.message.with([
                "thread": .exactly(["root": "r1"]), "priority": .exactly(7),
                "flags": .exactly([true, nil]), "émoji": .exactly("ü"),
            ])
            #expect(shape.faults(posted) == [])
            let client = try gateway.client("alice")
            let answer = try client.subscribe(id)
            #expect(answer["deltas"][0]["message"] == posted)
            try api.edit("x", in: id, ["priority": 8, "more": 1])
            let event = try client.nextEvent("messages")
            let message = event["deltas"][0]["message"]
            #expect(message["priority"] == 8 && message["more"] == 1)
            #expect(message["thread"] == ["root": "r1"] && message["body"] == "b")
        }

        @Test func anEditChangesWhatIsGivenAndNothingElse() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            let sent = try client.request(
                "sendMessage",
                [
                    "conversation": .string(id), "id": "x", "body": "one",
                    "attachment": ["a": 1], "metadata": ["m": 1],
                ])["message"]
            func edit(_ fields: JSONValue) throws -> JSONValue {
                var params = fields
                params["conversation"] = .string(id)
                params["id"] = "x"
                let result = try client.request("editMessage", params)
                #expect(Set((result.object ?? [:]).keys) == ["message", "head"])
                return result["message"]
            }
            let body = try edit(["body": "two"])
            #expect(Shape.message.faults(body) == [])
            #expect(body["body"] == "two" && body["metadata"] == ["m": 1])
            #expect(body["attachment"] == ["a": 1] && body["seq"] == 1 && body["rev"] == 3)
            #expect(body["editedAt"].string != nil && body["createdAt"] == sent["createdAt"])
            let metadata = try edit(["metadata": ["n": 2]])
            #expect(metadata["body"] == "two" && metadata["metadata"] == ["n": 2])
            // What is so already is no change.
            #expect(try edit(["body": "two", "metadata": ["n": 2]]) == metadata)
            #expect(try edit([:]) == metadata)
            #expect(metadata["rev"] == 4)
        }

        @Test func aDeletedMessageIsATombstone() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let client = try gateway.client("alice")
            let sent = try client.request(
                "sendMessage",
                [
                    "conversation": .string(id), "id": "x", "body": "one",
                    "attachment": ["a": 1], "metadata": ["m": 1],
                ])["message"]
            let params: JSONValue = ["conversation": .string(id), "id": "x"]
            let result = try client.request("deleteMessage", params)
            let message = result["message"]
            #expect(Set((result.object ?? [:]).keys) == ["message", "head"])
            #expect(Shape.tombstone.faults(message) == [])
            for name in ["id", "conversation", "seq", "author", "createdAt"] {
                #expect(message[name] == sent[name], "\(name)")
            }
            #expect(message["rev"] == 3)
            // To delete it again changes nothing; to edit it is refused.
            #expect(try client.request("deleteMessage", params)["message"] == message)
            var edit = params
            edit["body"] = "back"
            #expect(try client.code("editMessage", edit) == "conflict")
            let page = try client.request("fetchMessages", ["conversation": .string(id)])
            #expect(page["messages"] == [message] && page["head"]["rev"] == 3)
        }

        @Test func aMessageAboveTheLimitIsTooLarge() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            let params: JSONValue = ["conversation": .string(id), "id": "x"]
            var large = params
            large["body"] = .string(String(repeating: "a", count: 32_769))
            #expect(try client.code("sendMessage", large) == "too_large")
            large["body"] = .string(String(repeating: "a", count: 32_768))
            #expect(try client.code("sendMessage", large) == "ok")
            large["body"] = .string(String(repeating: "b", count: 32_769))
            #expect(try client.code("editMessage", large) == "too_large")
        }

        @Test func aReplyStaysBelowItsLimitAndSaysThatThereIsMore() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let api = gateway.api()
            let body = JSONValue.string(String(repeating: "a", count: 32_000))
            for _ in 0..<2 {
                try api.post(
                    (0..<50).map { _ in ["author": "alice", "body": body] }, to: id)
            }
            let exchange = try FrameExchange(connectedTo: gateway.port)
            for (anchor, before, after) in [
                ("", true, false), (#","before":101"#, true, false), (#","after":0"#, false, true),
                (#","around":50"#, true, true), (#","before":90,"after":3"#, true, true),
            ] {
                let params = #"{"conversation":"\#(id)","cached":false\#(anchor)}"#
                try exchange.connection.send(text: FrameExchange.request("fetchMessages", params))
                guard case .text(let bytes)? = try exchange.connection.receive() else {
                    throw TestFailure("no reply")
                }
                #expect(bytes.count <= 1 << 20, "\(anchor): \(bytes.count) bytes")
                let page = try JSONValue(parsing: bytes)["result"]
                #expect(page["messages"].seqs.count >= 20, "\(anchor)")
                #expect(page["hasMore"]["before"] == .bool(before), "\(anchor)")
                #expect(page["hasMore"]["after"] == .bool(after), "\(anchor)")
                if anchor.contains("around") { #expect(page["messages"].seqs.contains(50)) }
            }
        }
    }
}
