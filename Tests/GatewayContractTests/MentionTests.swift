import TestSupport
import Testing

/// `protocol.md` 3, 5 and 6: replies, mentions, and what of them is unread.
extension DefaultGateway {
    @Suite struct MentionTests {
        private static func asking(_ user: String) throws -> ChatTestClient {
            let client = try ChatTestClient(port: LiveGateway.get().port)
            try client.connect(user: user, unread: true)
            return client
        }

        private static func send(
            _ client: ChatTestClient, to id: String, _ fields: JSONValue
        ) throws -> JSONValue {
            var params = fields
            params["conversation"] = .string(id)
            if params["body"].isNull { params["body"] = "x" }
            return try client.request("sendMessage", params)["message"]
        }

        private static func own(_ client: ChatTestClient, _ id: String) throws -> JSONValue {
            try client.request("fetchConversation", ["conversation": .string(id)])["conversation"]
        }

        @Test func aMessageSaysToWhatItRepliesAndWhomItMentions() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], messages: 1)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            try bob.subscribe(id)
            let sent = try Self.send(
                alice, to: id, ["id": "r", "replyTo": "m1", "mentions": ["eve", "bob", "bob"]])
            #expect(Shape.message.faults(sent) == [])
            #expect(sent["replyTo"] == ["id": "m1", "seq": 1] && sent["mentions"] == ["bob"])
            #expect(sent["mentionAll"].isNull)
            let event = try bob.nextEvent("messages")
            #expect(event["deltas"][0]["message"] == sent)
            let lost = try Self.send(alice, to: id, ["replyTo": "no", "mentionAll": true])
            #expect(lost["replyTo"] == ["id": "no"] && lost["mentionAll"] == true)
            #expect(lost["mentions"].isNull)
            // What was sent counts as the same, also what was left out.
            let again = try Self.send(
                alice, to: id, ["id": "r", "replyTo": "m1", "mentions": ["eve", "bob"]])
            #expect(again == sent)
            for fields: JSONValue in [
                ["mentions": ["eve", "bob"]], ["replyTo": "m1", "mentions": ["bob"]],
                ["replyTo": "m1", "mentions": ["eve", "bob"], "mentionAll": true],
            ] {
                var params = fields
                params["conversation"] = .string(id)
                params["id"] = "r"
                params["body"] = "x"
                #expect(try alice.code("sendMessage", params) == "conflict")
            }
            // An edit changes what it names.
            var edit: JSONValue = ["conversation": .string(id), "id": "r", "body": "y"]
            var edited = try alice.request("editMessage", edit)["message"]
            #expect(edited["mentions"] == ["bob"] && edited["replyTo"] == sent["replyTo"])
            edit["mentions"] = ["alice", "eve"]
            edit["mentionAll"] = true
            edited = try alice.request("editMessage", edit)["message"]
            #expect(edited["mentions"] == ["alice"] && edited["mentionAll"] == true)
            edit["mentions"] = []
            edit["mentionAll"] = false
            edited = try alice.request("editMessage", edit)["message"]
            #expect(edited["mentions"].isNull && edited["mentionAll"].isNull)
            #expect(edited["replyTo"] == sent["replyTo"])
            let gone = try alice.request(
                "deleteMessage", ["conversation": .string(id), "id": "r"])["message"]
            #expect(Shape.tombstone.faults(gone) == [])
        }

        @Test func theBackendSendsAndEditsThem() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"])
            let api = gateway.api()
            let path = "/v1/conversations/\(id)/messages"
            let both = try api.call(
                "POST", path,
                [
                    ["id": "a", "author": "bob", "body": "1", "mentionAll": true],
                    [
                        "id": "b", "author": "bob", "body": "2", "replyTo": "a",
                        "mentions": ["alice", "eve"],
                    ],
                ])["messages"]
            #expect(both[0]["mentionAll"] == true)
            #expect(both[1]["replyTo"] == ["id": "a", "seq": 1])
            #expect(both[1]["mentions"] == ["alice"])
            #expect(try api.call("GET", path + "/b")["message"] == both[1])
            let edited = try api.call("PATCH", path + "/b", ["mentions": []])["message"]
            #expect(edited["mentions"].isNull && edited["replyTo"] == both[1]["replyTo"])
            let list = try api.call("GET", "/v1/conversations?user=alice&limit=1000")
            let shown = list["conversations"].array?.first { $0["id"] == .string(id) }
            #expect(shown?["unreadMentions"] == 1 && shown?["unreadCount"] == 2)
        }

        @Test func whatIsUnreadFollowsEditsDeletionsAndMembership() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            func counts(_ messages: Int, _ mentions: Int) throws {
                let own = try Self.own(bob, id)
                #expect(Shape.conversation.faults(own) == [])
                #expect(own["unreadCount"] == .int(messages))
                #expect(own["unreadMentions"] == .int(mentions))
            }
            func places() throws -> JSONValue {
                try bob.request("fetchMentions", ["conversation": .string(id)])
            }
            _ = try Self.send(alice, to: id, ["id": "a", "mentions": ["bob"]])
            _ = try Self.send(
                alice, to: id, ["id": "b", "mentionAll": true, "mentions": ["bob"]])
            _ = try Self.send(alice, to: id, ["id": "c"])
            try counts(3, 2)
            #expect(
                try places() == [
                    "places": [["id": "a", "seq": 1], ["id": "b", "seq": 2]], "total": 2,
                ])
            func edit(_ message: String, _ users: [String]) throws {
                try alice.request(
                    "editMessage",
                    [
                        "conversation": .string(id), "id": .string(message),
                        "mentions": .strings(users),
                    ])
            }
            try edit("c", ["bob"])
            try counts(3, 3)
            try edit("a", [])
            try counts(3, 2)
            try alice.request("deleteMessage", ["conversation": .string(id), "id": "b"])
            try counts(2, 1)
            let read = try bob.request("markRead", ["conversation": .string(id), "seq": 1])
            #expect(Shape.readState.faults(read) == [] && read["unreadMentions"] == 1)
            // Somebody who comes later, or back, has none from before.
            try bob.request("leaveConversation", ["conversation": .string(id)])
            #expect(
                try bob.code("fetchMentions", ["conversation": .string(id)]) == "not_found")
            try gateway.api().call("PUT", "/v1/conversations/\(id)/participants/bob")
            try counts(2, 0)
            #expect(try places() == ["places": [], "total": 0])
            try edit("c", ["bob", "alice"])
            try counts(2, 0)
            _ = try Self.send(alice, to: id, ["id": "d", "mentions": ["bob"]])
            try counts(3, 1)
            let people = try bob.request("fetchParticipants", ["conversation": .string(id)])
            let joined = (people["participants"].array ?? []).map { $0["joinedSeq"] }
            #expect(Set(joined) == [0, 3])
            // One's own are none, neither as a mention of oneself nor of all.
            _ = try Self.send(bob, to: id, ["id": "e", "mentionAll": true])
            try counts(0, 0)
            #expect(try places() == ["places": [["id": "d", "seq": 4]], "total": 1])
        }

        @Test func mentionsAreFetchedFromAPlaceOn() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let messages = (1...7).map { number -> JSONValue in
                [
                    "id": .string("m\(number)"), "author": "alice", "body": "x",
                    "mentions": number.isMultiple(of: 2) ? ["bob"] : [],
                    "mentionAll": .bool(number == 5),
                ]
            }
            try gateway.api().post(messages, to: id)
            let bob = try gateway.client("bob")
            func fetch(_ after: Int?, _ limit: Int?) throws -> [Int] {
                var params: JSONValue = ["conversation": .string(id)]
                if let after { params["after"] = .int(after) }
                if let limit { params["limit"] = .int(limit) }
                let answer = try bob.request("fetchMentions", params)
                #expect(answer["total"] == 4)
                return answer["places"].array?.compactMap { $0["seq"].int } ?? []
            }
            #expect(try fetch(nil, nil) == [2, 4, 5, 6])
            #expect(try fetch(nil, 3) == [2, 4, 5])
            #expect(try fetch(4, 1) == [5])
            #expect(try fetch(5, 1000) == [6])
            #expect(try fetch(6, nil) == [])
            let bad: JSONValue = ["conversation": .string(id), "after": -1]
            #expect(try bob.code("fetchMentions", bad) == "bad_request")
        }

        /// Of a hundred and twenty conversations, a hundred in the first event.
        @Test func eventsNameTheConversationsThatChanged() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let ids = try (0..<120).map { number in
                try gateway.conversation(of: ["other", user], messages: number % 2)
            }
            let client = try Self.asking(user)
            var told: [String: JSONValue] = [:]
            func take() throws -> Int {
                let event = try client.nextEvent("unread")
                #expect(Shape.unread.faults(event) == [])
                let of = event["of"].array ?? []
                for one in of { told[one["conversation"].string ?? ""] = one }
                return of.count
            }
            #expect(try take() == 100)
            while told.count < ids.count { #expect(try take() <= 100) }
            #expect(Set(told.keys) == Set(ids))
            for (number, id) in ids.enumerated() {
                #expect(told[id]?["unreadCount"] == .int(number % 2))
            }
            let id = ids[1]
            try gateway.api().post(
                ["author": "other", "body": "b", "mentions": [.string(user)]], to: id)
            let event = try client.nextEvent("unread")
            #expect(event["mentions"] == 1 && event["messages"] == 61)
            #expect(
                event["of"] == [
                    [
                        "conversation": .string(id), "lastReadSeq": 0, "unreadCount": 2,
                        "unreadMentions": 1,
                    ]
                ])
            try client.request("markRead", ["conversation": .string(id), "seq": 2])
            let read = try client.nextEvent("unread") { $0["messages"] == 59 }
            #expect(read["mentions"] == 0)
            // The answer has told this connection of that conversation.
            #expect(read["of"] == [])
        }

        @Test(
            arguments: [
                (#""replyTo":7"#, "replyTo"), (#""replyTo":"""#, "replyTo"),
                (#""mentions":"bob""#, "mentions"), (#""mentions":[7]"#, "mentions[0]"),
                (#""mentions":null"#, "mentions"), (#""mentionAll":"yes""#, "mentionAll"),
            ])
        func whatIsIllFormedIsNamed(_ field: String, _ name: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            let text = #"{"conversation":"\#(id)","body":"x",\#(field)}"#
            let error = #expect(throws: ChatTestClient.RequestFailed.self) {
                try client.request("sendMessage", try JSONValue(parsing: Array(text.utf8)))
            }
            #expect(error?.code == "bad_request")
            #expect(error?.message.hasPrefix("params.\(name): ") == true, "\(error?.message ?? "")")
        }
    }
}

/// `clients.mention_all`, and the limit of mentions.
enum MentionPolicy {
    fileprivate static func all(_ id: String, _ body: String = "x") -> JSONValue {
        ["conversation": .string(id), "body": .string(body), "mentionAll": true]
    }

    /// The default.
    @Suite(.gateway(["limits.mentions": "2"]))
    struct Admins {
        @Test func onlyAdminsMentionAllWhereThereAreAny() throws {
            let gateway = try LiveGateway.get()
            let ruled = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"])
            let free = try gateway.conversation(of: ["alice", "bob"])
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            #expect(try bob.code("sendMessage", MentionPolicy.all(ruled)) == "forbidden")
            #expect(try bob.code("sendMessage", MentionPolicy.all(free)) == "ok")
            #expect(try alice.code("sendMessage", MentionPolicy.all(ruled)) == "ok")
            try bob.request(
                "sendMessage", ["conversation": .string(ruled), "id": "own", "body": "x"])
            var edit = MentionPolicy.all(ruled)
            edit["id"] = "own"
            #expect(try bob.code("editMessage", edit) == "forbidden")
        }

        @Test func whatPassesTheLimitIsRefusedByName() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            var params: JSONValue = [
                "conversation": .string(id), "id": "m1", "mentions": ["x", "y", "z"],
            ]
            for method in ["sendMessage", "editMessage"] {
                params["body"] = "x"
                let error = #expect(throws: ChatTestClient.RequestFailed.self) {
                    try client.request(method, params)
                }
                #expect(error?.code == "too_large")
                #expect(error?.message.contains("limits.mentions") == true)
            }
            let path = "/v1/conversations/\(id)/messages"
            params["author"] = "alice"
            #expect(
                try gateway.api().http.send("POST", path, body: params.bytes).status == 413)
        }
    }

    @Suite(.gateway(["clients.mention_all": "no"]))
    struct No {
        @Test func nothingIsLookedUp() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], admins: ["alice"])
            let client = try gateway.client("alice")
            for conversation in [id, "nobody-has-this"] {
                let params = MentionPolicy.all(conversation)
                #expect(try client.code("sendMessage", params) == "forbidden")
            }
            try gateway.api().post(["author": "alice", "body": "b", "mentionAll": true], to: id)
        }
    }

    @Suite(.gateway(["clients.mention_all": "yes"]))
    struct Yes {
        @Test func everybodyMentionsAll() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"])
            #expect(
                try gateway.client("bob").code("sendMessage", MentionPolicy.all(id)) == "ok")
        }
    }
}
