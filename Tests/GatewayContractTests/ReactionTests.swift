import TestSupport
import Testing

/// `protocol.md` 3, `react`, `fetchReactions` and `fetchOwnReactions`: what a message shows, whom
/// it is told, what it leaves as it is.
extension DefaultGateway {
    @Suite struct ReactionTests {
        private static func of(
            _ id: String, _ key: String, _ isOn: Bool = true, to message: String = "m1"
        ) -> JSONValue {
            [
                "conversation": .string(id), "id": .string(message), "key": .string(key),
                "on": .bool(isOn),
            ]
        }

        @Test func aReactionIsAChangeOfTheMessageAndNoEdit() throws {
            let gateway = try LiveGateway.get()
            // Others are in lists of other tests.
            let watcher = LiveGateway.name("watcher")
            let id = try gateway.conversation(of: ["alice", "bob", watcher], messages: 1)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            let list = try gateway.client(watcher)
            try list.request("subscribeConversations")
            func say() throws {
                try bob.request("sendMessage", ["conversation": .string(id), "body": "on"])
            }
            func told() throws -> JSONValue {
                try list.nextEvent("conversations")["deltas"][0]["conversation"]["lastMessage"]
            }
            try say()
            while try told()["seq"] != 2 {}
            try alice.subscribe(id)
            let newest = try #require(
                try bob.request("fetchMessages", ["conversation": .string(id)])["messages"][0]["id"]
                    .string)
            let answer = try bob.request("react", Self.of(id, "+1", to: newest))
            let message = answer["message"]
            #expect(Set((answer.object ?? [:]).keys) == ["message", "own", "head"])
            #expect(Shape.message.faults(message) == [])
            #expect(message["reactions"] == [["key": "+1", "count": 1, "users": ["bob"]]])
            #expect(message["rev"] == 4 && message["contentRev"] == 3)
            #expect(message["editedAt"].isNull && answer["own"] == ["+1"])
            #expect(answer["head"]["rev"] == 4)
            let event = try alice.nextEvent("messages")
            #expect(
                event["deltas"] == [["type": "updated", "via": "live", "message": message]])
            #expect(event["prev"] == 3 && event["asOf"] == 4 && event["covers"] == [[2, 2]])
            // What is no change is told to nobody, and lists are not told of reactions.
            let again = try bob.request("react", Self.of(id, "+1", to: newest))
            #expect(again == answer)
            try say()
            #expect(try told()["seq"] == 3)
            #expect(try alice.nextEvent("messages")["asOf"] == 5)
            let shown = try alice.request("fetchConversation", ["conversation": .string(id)])
            #expect(shown["conversation"]["unreadCount"] == 2)
        }

        @Test func whatWasSeenBeforeAReactionIsStillSeen() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], messages: 1)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            try bob.request("react", Self.of(id, "+1"))
            var edit: JSONValue = [
                "conversation": .string(id), "id": "m1", "body": "two", "ifRev": 2,
            ]
            let edited = try alice.request("editMessage", edit)["message"]
            #expect(edited["rev"] == 4 && edited["contentRev"].isNull)
            #expect(edited["reactions"][0]["count"] == 1)
            edit["body"] = "three"
            #expect(try alice.code("editMessage", edit) == "conflict")
            edit["ifRev"] = 9
            #expect(try alice.code("editMessage", edit) == "conflict")
            let gone = try alice.request(
                "deleteMessage", ["conversation": .string(id), "id": "m1"])
            #expect(Shape.tombstone.faults(gone["message"]) == [])
            #expect(try bob.code("react", Self.of(id, "+1")) == "conflict")
            let asked: JSONValue = ["conversation": .string(id), "id": "m1"]
            let left = try bob.request("fetchReactions", asked)
            #expect(left == ["reactions": [], "total": 0])
            let own: JSONValue = ["conversation": .string(id), "after": 0, "before": 9]
            #expect(try bob.request("fetchOwnReactions", own) == ["own": []])
        }

        @Test func whoReactsIsFetchedInPagesOldestFirst() throws {
            let gateway = try LiveGateway.get()
            let users = (1...13).map { "u\($0)" }
            let id = try gateway.conversation(of: users, messages: 3)
            let api = gateway.api()
            let path = "/v1/conversations/\(id)/messages/m1/reactions/"
            for user in users { try api.call("PUT", path + user + "/%2B1") }
            try api.call("PUT", path + "u2/%F0%9F%8E%89")
            let shown = try api.call("GET", "/v1/conversations/\(id)/messages/m1")["message"]
            #expect(shown["reactions"][0]["count"] == 13)
            #expect(shown["reactions"][0]["users"] == .strings(Array(users.prefix(10))))
            #expect(shown["reactions"][1]["users"] == ["u2"])
            let reader = try gateway.client("u2")
            func walk(_ key: JSONValue?, limit: Int) throws -> [JSONValue] {
                var found: [JSONValue] = []
                var cursor: String?
                repeat {
                    var asked: JSONValue = [
                        "conversation": .string(id), "id": "m1", "limit": .int(limit),
                    ]
                    if let key { asked["key"] = key }
                    if let cursor { asked["cursor"] = .string(cursor) }
                    let page = try reader.request("fetchReactions", asked)
                    #expect(page["total"] == .int(key == nil ? 14 : 13))
                    found += page["reactions"].array ?? []
                    cursor = page["next"].string
                } while cursor != nil
                return found
            }
            for limit in [1, 5, 13, 1000] {
                let ofKey = try walk("+1", limit: limit)
                #expect(ofKey.compactMap { $0["user"].string } == users)
                let all = try walk(nil, limit: limit)
                #expect(all.compactMap { $0["user"].string } == users + ["u2"])
                #expect(all.last?["key"] == "🎉" && all.last?["at"].string != nil)
            }
            let asked: JSONValue = ["conversation": .string(id), "after": 0, "before": 4]
            #expect(
                try reader.request("fetchOwnReactions", asked)
                    == ["own": [["seq": 1, "keys": ["+1", "🎉"]]]])
            // The next one is named when one of the first is gone.
            try api.call("DELETE", path + "u1/%2B1")
            let after = try api.call("GET", "/v1/conversations/\(id)/messages/m1")["message"]
            #expect(after["reactions"][0]["users"] == .strings(Array(users[1...10])))
        }

        @Test func onlyWhoTakesPartReactsAndReads() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"], messages: 1)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            let eve = try gateway.client("eve")
            #expect(try eve.code("react", Self.of(id, "+1")) == "not_found")
            #expect(try eve.code("react", Self.of("none", "+1")) == "not_found")
            let asked: JSONValue = ["conversation": .string(id), "id": "m1"]
            #expect(try eve.code("fetchReactions", asked) == "not_found")
            let own: JSONValue = ["conversation": .string(id), "after": 0, "before": 2]
            #expect(try eve.code("fetchOwnReactions", own) == "not_found")
            #expect(try bob.code("react", Self.of(id, "+1", to: "m9")) == "not_found")
            var other = Self.of(id, "+1")
            other["user"] = "bob"
            #expect(try alice.code("react", other) == "forbidden")
            try bob.request("react", other)
            other["on"] = false
            other["user"] = "alice"
            #expect(try bob.code("react", other) == "forbidden")
            other["user"] = "bob"
            let taken = try alice.request("react", other)
            #expect(taken["message"]["reactions"].isNull && taken["own"] == [])
            #expect(taken["message"]["contentRev"] == 2)
            let path = "/v1/conversations/\(id)/messages/m1/reactions/eve/x"
            #expect(try gateway.api().http.send("PUT", path).status == 400)
            #expect(try gateway.http().send("PUT", path).status == 401)
        }

        @Test(
            arguments: [
                (#"{"conversation":"@","id":"m1","on":true}"#, "key"),
                (#"{"conversation":"@","id":"m1","key":"","on":true}"#, "key"),
                (#"{"conversation":"@","id":"m1","key":"a\u0007","on":true}"#, "key"),
                (#"{"conversation":"@","id":"m1","key":7,"on":true}"#, "key"),
                (#"{"conversation":"@","id":"m1","key":"a"}"#, "on"),
                (#"{"conversation":"@","id":"m1","key":"a","on":1}"#, "on"),
                (#"{"conversation":"@","key":"a","on":true}"#, "id"),
            ])
        func whatIsIllFormedIsNamed(_ params: String, _ field: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            let text = params.replacing("@", with: id)
            let error = #expect(throws: ChatTestClient.RequestFailed.self) {
                try client.request("react", try JSONValue(parsing: Array(text.utf8)))
            }
            #expect(error?.code == "bad_request")
            #expect(
                error?.message.hasPrefix("params.\(field): ") == true, "\(error?.message ?? "")")
        }

        @Test func aKeyHas64BytesAndARangeAThousandSeqs() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            try client.request("react", Self.of(id, String(repeating: "x", count: 64)))
            let long = Self.of(id, String(repeating: "x", count: 65))
            #expect(try client.code("react", long) == "bad_request")
            var asked: JSONValue = ["conversation": .string(id), "after": 0, "before": 1001]
            try client.request("fetchOwnReactions", asked)
            asked["before"] = 1002
            #expect(try client.code("fetchOwnReactions", asked) == "bad_request")
            asked["before"] = 0
            #expect(try client.request("fetchOwnReactions", asked) == ["own": []])
            let cursor: JSONValue = ["conversation": .string(id), "id": "m1", "cursor": "x"]
            #expect(try client.code("fetchReactions", cursor) == "bad_request")
        }

        /// A client that sends them as fields of its own shows nothing.
        @Test func aSenderCanNotForgeThem() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let client = try gateway.client("alice")
            let sent = try client.request(
                "sendMessage",
                [
                    "conversation": .string(id), "body": "x", "contentRev": 1,
                    "reactions": [["key": "+1", "count": 99, "users": ["bob"]]],
                ])
            #expect(Shape.message.faults(sent["message"]) == [])
            #expect(sent["message"]["reactions"].isNull)
        }
    }
}

/// `clients.react: no`, and the limits of reactions.
enum ReactionPolicy {
    @Suite(.gateway(["clients.react": "no"]))
    struct No {
        @Test func nothingIsLookedUp() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            for conversation in [id, "nobody-has-this"] {
                let params: JSONValue = [
                    "conversation": .string(conversation), "id": "m1", "key": "+1", "on": true,
                ]
                #expect(try client.code("react", params) == "forbidden")
            }
            let path = "/v1/conversations/\(id)/messages/m1/reactions/alice/x"
            #expect(try gateway.api().call("PUT", path)["message"]["reactions"][0]["count"] == 1)
        }
    }

    @Suite(.gateway(["limits.reaction_keys": "2", "limits.reactions": "3"]))
    struct Limits {
        @Test func whatPassesThemIsRefusedByName() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], messages: 1)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            func react(_ client: ChatTestClient, _ key: String) throws -> String? {
                do {
                    try client.request(
                        "react",
                        [
                            "conversation": .string(id), "id": "m1", "key": .string(key),
                            "on": true,
                        ])
                    return nil
                } catch let error as ChatTestClient.RequestFailed {
                    return error.message
                }
            }
            #expect(try react(alice, "a") == nil)
            #expect(try react(alice, "b") == nil)
            #expect(try react(bob, "c")?.contains("limits.reaction_keys") == true)
            #expect(try react(bob, "a") == nil)
            #expect(try react(bob, "b")?.contains("limits.reactions") == true)
        }
    }
}
