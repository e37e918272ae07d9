import TestSupport
import Testing

/// `protocol.md` 3, the methods that create and change conversations: results, what is no change,
/// and who takes part afterwards.
extension DefaultGateway {
    @Suite struct ConversationMethodTests {
        private func rev(_ client: ChatTestClient, _ id: String) throws -> JSONValue {
            try client.request("fetchConversation", ["conversation": .string(id)])["conversation"][
                "rev"]
        }

        @Test func whoCreatesTakesPartAndIsAdmin() throws {
            let client = try LiveGateway.get().client("alice")
            let id = LiveGateway.name("c")
            let result = try client.request(
                "createConversation",
                [
                    "id": .string(id), "title": "Ops", "participants": ["bob", "carol"],
                    "metadata": ["k": [1]], "color": "red",
                ])
            #expect(Set((result.object ?? [:]).keys) == ["conversation"])
            let conversation = result["conversation"]
            #expect(
                Shape.conversation.with(["color": .exactly("red")]).faults(conversation) == [])
            #expect(conversation["id"] == .string(id) && conversation["title"] == "Ops")
            #expect(Set(conversation["participants"].array ?? []) == ["alice", "bob", "carol"])
            #expect(conversation["participantCount"] == 3 && conversation["admins"] == ["alice"])
            #expect(conversation["metadata"] == ["k": [1]] && conversation["lastMessage"] == .null)
            #expect(conversation["unreadCount"] == 0 && conversation["lastReadSeq"] == 0)
            #expect(conversation["head"]["seq"] == 0 && conversation["rev"] == 1)
            let fetched = try client.request("fetchConversation", ["conversation": .string(id)])
            #expect(fetched == result)
        }

        @Test func anIdIsGivenWhereNoneIsNamedAndRefusedWhereItIsTaken() throws {
            let gateway = try LiveGateway.get()
            let client = try gateway.client("alice")
            let made = try client.request("createConversation", ["participants": []])[
                "conversation"]
            #expect(Shape.conversation.faults(made) == [])
            #expect(made["participants"] == ["alice"] && made["title"] == .null)
            let again: JSONValue = ["id": made["id"], "participants": []]
            #expect(try client.code("createConversation", again) == "conflict")
            #expect(try gateway.client("bob").code("createConversation", again) == "forbidden")
        }

        @Test func aDistinctOneOfTheSamePeopleIsThatOne() throws {
            let gateway = try LiveGateway.get()
            let users = (0..<3).map { _ in LiveGateway.name("user") }
            let client = try gateway.client(users[0])
            func create(
                _ caller: ChatTestClient, _ others: [String], distinct: Bool = true
            ) throws -> JSONValue {
                try caller.request(
                    "createConversation",
                    ["participants": .strings(others), "distinct": .bool(distinct)])[
                        "conversation"][
                        "id"]
            }
            let first = try create(client, [users[1]])
            #expect(try create(client, [users[1]]) == first)
            #expect(try create(client, [users[1], users[0], users[1]]) == first)
            #expect(try create(gateway.client(users[1]), [users[0]]) == first)
            #expect(try create(client, [users[1]], distinct: false) != first)
            let three = try create(client, [users[2], users[1]])
            #expect(three != first)
            #expect(try create(client, [users[1], users[2]]) == three)
        }

        @Test func anUpdateChangesWhatIsGiven() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"])
            let client = try gateway.client("alice")
            func update(_ fields: JSONValue) throws -> JSONValue {
                var params = fields
                params["conversation"] = .string(id)
                let conversation = try client.request("updateConversation", params)["conversation"]
                #expect(
                    Shape.conversation.without().faults(conversation).filter {
                        !$0.contains("color")
                    } == [])
                return conversation
            }
            let titled = try update(["title": "One", "metadata": ["a": 1], "color": 7])
            #expect(titled["title"] == "One" && titled["rev"] == 2 && titled["color"] == 7)
            let same = try update(["title": "One"])
            #expect(same["rev"] == 2 && same["metadata"] == ["a": 1] && same["color"] == 7)
            #expect(try update([:])["rev"] == 2)
            let cleared = try update(["title": nil, "metadata": [:]])
            #expect(cleared["title"] == .null && cleared["metadata"] == [:] && cleared["rev"] == 3)
            #expect(cleared["head"]["rev"] == 3 && cleared["head"]["seq"] == 0)
        }

        @Test func participantsComeAndGo() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"])
            let client = try gateway.client("alice")
            func change(_ method: String, _ users: [String]) throws -> JSONValue {
                let result = try client.request(
                    method, ["conversation": .string(id), "users": .strings(users)])
                return result["conversation"]
            }
            let added = try change("addParticipants", ["carol", "dave", "carol", "bob"])
            #expect(Shape.conversation.faults(added) == [])
            #expect(added["participants"] == ["alice", "bob", "carol", "dave"])
            #expect(added["rev"] == 2 && added["participantCount"] == 4)
            #expect(try change("addParticipants", ["dave"])["rev"] == 2)
            let removed = try change("removeParticipants", ["bob", "dave", "nobody"])
            #expect(removed["participants"] == ["alice", "carol"] && removed["rev"] == 3)
            #expect(try change("removeParticipants", ["nobody"])["rev"] == 3)
            let raised = try change("addAdmins", ["carol"])
            #expect(Set(raised["admins"].array ?? []) == ["alice", "carol"] && raised["rev"] == 4)
            #expect(try change("addAdmins", ["carol"])["rev"] == 4)
            #expect(try change("removeAdmins", ["carol"])["admins"] == ["alice"])
            #expect(try change("removeAdmins", ["carol"])["rev"] == 5)
            // An admin who is removed loses the right.
            _ = try change("addAdmins", ["carol"])
            #expect(try change("removeParticipants", ["carol"])["admins"] == ["alice"])
        }

        @Test func whoLeavesSeesItNoMore() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], messages: 2)
            let client = try gateway.client("bob")
            let params: JSONValue = ["conversation": .string(id)]
            #expect(try client.request("leaveConversation", params) == [:])
            #expect(try client.code("leaveConversation", params) == "not_found")
            #expect(try client.code("fetchMessages", params) == "not_found")
            let left = try gateway.client("alice").request("fetchConversation", params)
            #expect(left["conversation"]["participants"] == ["alice"])
        }

        @Test func aDeletedConversationIsGoneAndItsIdFree() throws {
            let gateway = try LiveGateway.get()
            let client = try gateway.client("alice")
            let create: JSONValue = [
                "id": .string(LiveGateway.name("c")), "participants": ["bob"],
            ]
            let old = try client.request("createConversation", create)["conversation"]
            let params: JSONValue = ["conversation": old["id"]]
            var send = params
            send["body"] = "b"
            try client.request("sendMessage", send)
            #expect(try client.request("deleteConversation", params) == [:])
            #expect(try client.code("fetchConversation", params) == "not_found")
            #expect(try client.code("deleteConversation", params) == "not_found")
            let new = try client.request("createConversation", create)["conversation"]
            #expect(new["head"]["epoch"] != old["head"]["epoch"] && new["head"]["seq"] == 0)
            #expect(try client.request("fetchMessages", params)["messages"] == [])
        }

        @Test func above100ParticipantsAreCountedAndNotListed() throws {
            let gateway = try LiveGateway.get()
            let crowd = (1...99).map { "u\($0)" }
            let id = try gateway.conversation(of: ["alice"] + crowd)
            let client = try gateway.client("alice")
            let params: JSONValue = ["conversation": .string(id)]
            func views() throws -> [JSONValue] {
                [
                    try client.request("fetchConversation", params)["conversation"],
                    try client.request("subscribeMessages", params)["conversation"],
                    try gateway.api().conversation(id),
                ]
            }
            for view in try views() {
                #expect(view["participants"].array?.count == 100)
                #expect(view["participantCount"] == 100)
            }
            try gateway.api().add("one-more", to: id)
            // The call is answered when the origin has the change; the gateway hears of it then.
            _ = try client.nextEvent("conversation") {
                $0["conversation"]["participantCount"] == 101
            }
            for view in try views() {
                #expect(view["participants"] == .null && view["participantCount"] == 101)
            }
            let list = try client.request("fetchParticipants", params)
            #expect(list["total"] == 101 && list["participants"].array?.count == 101)
        }

        /// More than an origin writes with one command: each of them still has the right places,
        /// markers and rights.
        @Test func manyLeaveAndComeBackAtOnce() throws {
            let gateway = try LiveGateway.get()
            let users = (1...1200).map { "u\($0)" }
            let id = try gateway.conversation(of: ["alice"] + users)
            for author in ["u7", "u1100"] {
                try gateway.api().post(
                    ["author": .string(author), "body": "before they went"], to: id)
            }
            func put(_ users: [String]) throws {
                try gateway.api().put(
                    id, ["participants": .array((["alice"] + users).map { .string($0) })])
            }
            func listed() throws -> JSONValue {
                try gateway.client("alice").request(
                    "fetchParticipants", ["conversation": .string(id), "order": "asc"])
            }
            let stay = Array(users[1150...])
            try put(stay)
            #expect(
                try listed()["participants"].column("id")
                    == (["alice"] + stay).map { .string($0) })
            try put(users)
            let all = try listed()
            #expect(all["total"] == 1201)
            let order = ["alice"] + stay + users[..<1150]
            #expect(all["participants"].column("id") == order.map { .string($0) })
            for participant in all["participants"].array ?? [] {
                let wrote: JSONValue =
                    switch participant["id"] {
                    case "u7": 1
                    case "u1100": 2
                    default: 0
                    }
                #expect(participant["lastReadSeq"] == wrote, "\(participant)")
            }
        }

        @Test func participantsAreListedInParts() throws {
            let gateway = try LiveGateway.get()
            let users = (1...7).map { "u\($0)" }
            let id = try gateway.conversation(of: [])
            for user in users {
                try gateway.api().call(
                    "PUT", "/v1/conversations/\(id)/participants/\(user)",
                    ["name": .string("Name \(user)"), "metadata": ["m": 1], "badge": "b"])
            }
            let client = try gateway.client("u3")
            func list(_ params: JSONValue) throws -> JSONValue {
                var params = params
                params["conversation"] = .string(id)
                return try client.request("fetchParticipants", params)
            }
            let all = try list([:])
            let shape = Shape.participant.with([
                "name": .string, "badge": .exactly("b"), "metadata": .exactly(["m": 1]),
            ])
            for participant in all["participants"].array ?? [] {
                #expect(shape.faults(participant) == [])
            }
            let newestFirst = users.reversed().map { JSONValue.string($0) }
            let rows: [(JSONValue, [JSONValue], JSONValue, JSONValue)] = [
                ([:], newestFirst, 0, 0), (["limit": 0, "offset": 3], newestFirst, 0, 0),
                (["limit": -5, "offset": 3], newestFirst, -5, 0),
                (["limit": 2], ["u7", "u6"], 2, 0),
                (["limit": 2, "offset": 2, "order_by": "created_at"], ["u5", "u4"], 2, 2),
                (["limit": 3, "offset": 6], ["u1"], 3, 6), (["limit": 3, "offset": 9], [], 3, 9),
                (["order": "asc", "limit": 2, "offset": 1], ["u2", "u3"], 2, 1),
                (["order": "desc"], newestFirst, 0, 0),
            ]
            for (params, ids, limit, offset) in rows {
                let answer = try list(params)
                #expect(answer["participants"].column("id") == ids, "\(params)")
                #expect(answer["total"] == 7, "\(params)")
                #expect(answer["limit"] == limit && answer["offset"] == offset, "\(params)")
            }
        }

        @Test func readMarkersAndUnreadCountsAreOnesOwn() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob", "carol"], messages: 10)
            let api = gateway.api()
            try api.delete("m10", in: id)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            let params: JSONValue = ["conversation": .string(id)]
            func state(_ client: ChatTestClient) throws -> [JSONValue] {
                let view = try client.request("fetchConversation", params)["conversation"]
                return [view["lastReadSeq"], view["unreadCount"]]
            }
            // Posting in alice's name moved her own marker, and nobody else's.
            #expect(try state(alice) == [10, 0])
            #expect(try state(bob) == [0, 9])
            func mark(_ seq: Int) throws -> JSONValue {
                try bob.request("markRead", ["conversation": .string(id), "seq": .int(seq)])
            }
            #expect(try mark(0) == ["lastReadSeq": 0, "unreadCount": 9, "unreadMentions": 0])
            #expect(try mark(4) == ["lastReadSeq": 4, "unreadCount": 5, "unreadMentions": 0])
            #expect(try mark(2) == ["lastReadSeq": 4, "unreadCount": 5, "unreadMentions": 0])
            #expect(
                try bob.code("markRead", ["conversation": .string(id), "seq": 11])
                    == "bad_request")
            try bob.request("sendMessage", ["conversation": .string(id), "body": "b"])
            #expect(try state(bob) == [11, 0])
            #expect(try state(alice) == [10, 1])
            #expect(try mark(11) == ["lastReadSeq": 11, "unreadCount": 0, "unreadMentions": 0])
            let listed = try alice.request("fetchParticipants", params)["participants"].array ?? []
            #expect(listed.first { $0["id"] == "bob" }?["lastReadSeq"] == 11)
            #expect(listed.first { $0["id"] == "carol" }?["lastReadSeq"] == 0)
        }
    }
}
