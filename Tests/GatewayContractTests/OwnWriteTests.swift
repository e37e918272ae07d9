import TestSupport
import Testing

/// `protocol.md` 3, `atLeast`: the answer to a write has the head of the log that has it, and a
/// read that names it has the change, or says that the log has lost it.
extension DefaultGateway {
    @Suite struct OwnWriteTests {
        private static let reads = [
            "fetchMessages", "fetchConversation", "fetchParticipants", "subscribeMessages",
        ]

        /// The head of another log than there is.
        private func forged(_ head: JSONValue, _ name: String, _ value: JSONValue) -> JSONValue {
            var head = head
            head[name] = value
            return head
        }

        @Test func theAnswerToAWriteHasTheHeadOfTheLogThatHasIt() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let client = try gateway.client("alice")
            let own: JSONValue = ["conversation": .string(id), "id": "m1", "body": "x"]
            for (method, params) in [
                ("sendMessage", own), ("sendMessage", own),
                ("editMessage", ["conversation": .string(id), "id": "m1", "body": "y"]),
                ("deleteMessage", ["conversation": .string(id), "id": "m1"]),
                ("deleteMessage", ["conversation": .string(id), "id": "m1"]),
            ] as [(String, JSONValue)] {
                let answer = try client.request(method, params)
                #expect(Set((answer.object ?? [:]).keys) == ["message", "head"])
                #expect(Shape.head.faults(answer["head"]) == [])
                #expect(answer["head"]["rev"] == answer["message"]["rev"], "\(method)")
                let page = try client.request("fetchMessages", ["conversation": .string(id)])
                #expect(page["head"] == answer["head"])
            }
            let api = gateway.api()
            let path = "/v1/conversations/\(id)/messages"
            let posted = try api.call("POST", path, ["author": "bob", "id": "b", "body": "x"])
            let many: JSONValue = [
                ["author": "bob", "body": "1"], ["author": "bob", "body": "2"],
            ]
            let all = try api.call("POST", path, many)
            let edited = try api.call("PATCH", path + "/b", ["body": "y"])
            let deleted = try api.call("DELETE", path + "/b")
            #expect(all["head"]["rev"] == all["messages"][1]["rev"])
            for answer in [posted, edited, deleted] {
                #expect(Set((answer.object ?? [:]).keys) == ["message", "head"])
                #expect(Shape.head.faults(answer["head"]) == [])
                #expect(answer["head"]["rev"] == answer["message"]["rev"])
            }
        }

        @Test(arguments: reads)
        func aReadThatNamesAWriteHasIt(_ method: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let (writer, reader) = (try gateway.client("alice"), try gateway.client("bob"))
            let asked: JSONValue = ["conversation": .string(id)]
            for number in 1...5 {
                let head = try writer.request(
                    "sendMessage", ["conversation": .string(id), "body": .string("\(number)")]
                )["head"]
                var params = asked
                params["atLeast"] = head
                let answer = try reader.request(method, params)
                #expect(answer["reset"] == .null && answer["open"] == .null)
                if method == "fetchParticipants" { continue }
                let seen = answer["head"]["rev"].int ?? answer["conversation"]["head"]["rev"].int
                #expect(try #require(seen) >= head["rev"].int ?? 0)
            }
        }

        @Test(arguments: reads, ["epoch", "mark", "rev"])
        func aWriteThatTheLogDoesNotHaveIsAnsweredWithAReset(
            _ method: String, _ field: String
        ) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 3)
            let client = try gateway.client("alice")
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            let lost = forged(head, field, field == "rev" ? 1_000_000 : "none")
            var params: JSONValue = ["conversation": .string(id), "atLeast": lost]
            let answer = try client.request(method, params)
            #expect(answer["reset"] == true && answer["open"] == .null, "\(method) \(field)")
            // The log and everybody else notice nothing.
            params["atLeast"] = head
            let next = try client.request(method, params)
            #expect(next["reset"] == .null && next["open"] == .null)
        }

        @Test func aHaveThatIsConfirmedDoesNotHideALostWrite() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 3)
            let client = try gateway.client("alice")
            let first = try client.request("subscribeMessages", ["conversation": .string(id)])
            let have: JSONValue = ["head": first["head"], "asOf": first["asOf"], "runs": [[1, 3]]]
            let answer = try client.request(
                "subscribeMessages",
                [
                    "conversation": .string(id), "have": have,
                    "atLeast": forged(first["head"], "mark", "none"),
                ])
            #expect(answer["reset"] == true && answer["deltas"].array?.count == 3)
        }

        @Test(arguments: reads)
        func whatIsNoChangeIsRefusedByName(_ method: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            for (value, message) in [
                (7, "params.atLeast: 7 (accepted: an object)"),
                ([:], "params.atLeast.epoch: missing (accepted: a string)"),
                (
                    ["epoch": "e", "rev": 0, "mark": "m"],
                    "params.atLeast.rev: 0 is out of range (1…9007199254740991)"
                ),
                (
                    ["epoch": "e", "rev": 1, "mark": 5],
                    "params.atLeast.mark: 5 (accepted: a string)"
                ),
            ] as [(JSONValue, String)] {
                do {
                    try client.request(method, ["conversation": .string(id), "atLeast": value])
                    Issue.record("\(method) took \(value)")
                } catch let error as ChatTestClient.RequestFailed {
                    #expect(error.code == "bad_request" && error.message == message)
                }
            }
        }

        @Test(arguments: ["", "/messages", "/messages/m1", "/changes", "/participants"])
        func theServerAPITakesItToo(_ rest: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let path = "/v1/conversations/\(id)\(rest)?atLeast="
            let api = gateway.api()
            let head = try api.call("GET", "/v1/conversations/\(id)")["conversation"]["head"]
            func status(_ text: String) throws -> (Int, String) {
                let answer = try api.http.send("GET", path + ServerAPI.escaped(text))
                return (answer.status, answer.json["error"]["message"].string ?? "")
            }
            #expect(try status(head.description) == (200, ""))
            for field in ["epoch", "mark", "rev"] {
                let lost = forged(head, field, field == "rev" ? 1_000_000 : "none")
                #expect(
                    try status(lost.description) == (409, "atLeast: this log has no such change"),
                    "\(field)")
            }
            #expect(
                try status("7") == (400, "atLeast: 7 (accepted: the head of an answer, as JSON)"))
            #expect(
                try status("{}") == (400, "atLeast.epoch: missing (accepted: a string)"))
        }
    }
}
