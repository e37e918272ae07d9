import TestSupport
import Testing

/// `protocol.md` 3 and 5, one's list of conversations: its order and parts, what changed since a
/// token, and the events of those who watch it.
extension DefaultGateway {
    @Suite struct ConversationListTests {
        @Test func theLatestActivityComesFirst() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let ids = try (0..<7).map { _ in try gateway.conversation(of: [user]) }
            let api = gateway.api()
            // A millisecond is the grain of activity.
            for id in [ids[2], ids[5], ids[0]] {
                let before = try api.conversation(ids[6])["updatedAt"]
                var sent = before
                while sent == before {
                    sent = try api.post(["author": .string(user), "body": "b"], to: id)["createdAt"]
                }
                try api.call("PUT", "/v1/conversations/\(ids[6])", ["title": sent])
            }
            let client = try gateway.client(user)
            let list = try client.request("fetchConversations")
            #expect(Shape.conversationList.faults(list) == [])
            #expect(list["total"] == 7 && list["next"] == .null)
            let first = list["conversations"].column("id").prefix(4).compactMap(\.string)
            #expect(Set(first) == [ids[6], ids[0], ids[5], ids[2]])
            #expect(first[2...] == [ids[5], ids[2]])
            #expect(list["conversations"][0]["lastMessage"] == .null || first[0] == ids[0])
        }

        @Test func itIsReadInPartsByACursor() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let ids = try (0..<10).map { _ in try gateway.conversation(of: [user]) }
            let client = try gateway.client(user)
            var seen: [String] = []
            var params: JSONValue = ["limit": 3]
            while true {
                let part = try client.request("fetchConversations", params)
                #expect(Shape.conversationList.faults(part) == [] && part["total"] == 10)
                seen += part["conversations"].column("id").compactMap(\.string)
                guard let next = part["next"].string else { break }
                #expect(part["conversations"].array?.count == 3)
                params["cursor"] = .string(next)
            }
            #expect(seen.count == 10 && Set(seen) == Set(ids))
            #expect(try client.code("fetchConversations", ["cursor": "nonsense"]) == "bad_request")
            let whole = try client.request("fetchConversations")
            #expect(whole["conversations"].column("id").compactMap(\.string) == seen)
        }

        @Test func aListThatIsTooLargeForAReplyComesInParts() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let body = JSONValue.string(String(repeating: "a", count: 30_000))
            let client = try gateway.client(user)
            let token = try client.request("subscribeConversations")["token"]
            var ids: Set<String> = []
            for _ in 0..<50 {
                let id = try gateway.conversation(of: [user])
                try gateway.api().post(["author": "other", "body": body], to: id)
                ids.insert(id)
            }
            // What changed does not fit either, so the list begins anew.
            let changes = try client.request("subscribeConversations", ["since": token])
            #expect(changes.bytes.count <= 1 << 20 && changes["complete"] == false)
            var seen: [String] = []
            var params: JSONValue = ["limit": 1000]
            while true {
                let part = try client.request("fetchConversations", params)
                #expect(Shape.conversationList.faults(part) == [])
                #expect(part.bytes.count <= 1 << 20)
                seen += part["conversations"].column("id").compactMap(\.string)
                guard let next = part["next"].string else { break }
                params["cursor"] = .string(next)
            }
            #expect(seen.count == 50 && Set(seen) == ids)
        }

        @Test func anEmptyListIsEmpty() throws {
            let client = try LiveGateway.get().client(LiveGateway.name("user"))
            #expect(try client.request("fetchConversations") == ["conversations": [], "total": 0])
            let changes = try client.request("subscribeConversations")
            #expect(Shape.conversationChanges.faults(changes) == [])
            #expect(changes["conversations"] == [] && changes["total"] == 0)
        }

        @Test func aTokenTellsWhatChangedSince() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let ids = try (0..<5).map { _ in try gateway.conversation(of: [user, "other"]) }
            let client = try gateway.client(user)
            let start = try client.request("subscribeConversations")
            #expect(Shape.conversationChanges.faults(start) == [])
            #expect(start["complete"] == false && start["removed"] == [] && start["total"] == 5)
            #expect(start["conversations"].array?.count == 5)
            let nothing = try client.request("subscribeConversations", ["since": start["token"]])
            #expect(nothing["complete"] == true && nothing["conversations"] == [])
            #expect(nothing["removed"] == [] && nothing["total"] == 5)
            let api = gateway.api()
            try api.post(["author": "other", "body": "b"], to: ids[1])
            try api.put(ids[2], ["title": "T"])
            try api.deleteConversation(ids[3])
            try api.remove(user, from: ids[4])
            let added = try gateway.conversation(of: [user])
            let changes = try client.request("subscribeConversations", ["since": start["token"]])
            #expect(Shape.conversationChanges.faults(changes) == [])
            #expect(changes["complete"] == true && changes["total"] == 4)
            #expect(
                Set(changes["conversations"].column("id").compactMap(\.string))
                    .isSuperset(of: [ids[1], ids[2], added]))
            #expect(Set(changes["removed"].array ?? []) == [.string(ids[3]), .string(ids[4])])
            let later = try client.request("subscribeConversations", ["since": changes["token"]])
            #expect(later["complete"] == true && later["conversations"] == [])
            // One's own read marker changes one's own entry.
            try client.request("markRead", ["conversation": .string(ids[1]), "seq": 1])
            let read = try client.request("subscribeConversations", ["since": changes["token"]])
            let mine = read["conversations"].array?.first { $0["id"] == .string(ids[1]) }
            #expect(read["complete"] == true && mine?["unreadCount"] == 0)
            // Of a list that is not long, every origin gives nothing else.
            #expect(changes["conversations"].array?.count == 3)
            #expect(read["conversations"].array?.count == 1)
        }

        @Test(arguments: ["", "nonsense", "zzzzzzzz.0011223344556677", "1."])
        func aTokenThatIsUnknownBeginsAnew(token: String) throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let id = try gateway.conversation(of: [user])
            let changes = try gateway.client(user).request(
                "subscribeConversations", ["since": .string(token)])
            #expect(Shape.conversationChanges.faults(changes) == [])
            #expect(changes["complete"] == false)
            #expect(changes["conversations"].column("id") == [.string(id)])
        }

        /// Once for each change, whichever of log and list tells of it first.
        @Test(arguments: 0..<20) func whoWatchesHearsOfEveryChangeOfTheList(_: Int) throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let client = try gateway.client(user)
            try client.request("subscribeConversations")
            let api = gateway.api()
            let id = try gateway.conversation(of: ["other", user])
            func next() throws -> JSONValue {
                let event = try client.nextEvent("conversations")
                #expect(Shape.listEvent.faults(event) == [])
                #expect(event["deltas"].array?.count == 1)
                return event["deltas"][0]
            }
            let made = try next()
            #expect(made["type"] == "inserted" && made["conversation"]["id"] == .string(id))
            let sent = try api.post(["id": "x", "author": "other", "body": "b"], to: id)
            let spoken = try next()
            #expect(spoken["type"] == "updated")
            #expect(spoken["conversation"]["lastMessage"] == sent)
            #expect(spoken["conversation"]["head"]["seq"] == 1)
            try api.put(id, ["title": "T"])
            #expect(try next()["conversation"]["title"] == "T")
            // A tombstone is no last message.
            try api.delete("x", in: id)
            #expect(try next()["conversation"]["lastMessage"] == .null)
            try api.remove(user, from: id)
            let removed = try client.nextEvent("conversations")
            #expect(Shape.removalEvent(of: id).faults(removed) == [])
            try api.add(user, to: id)
            #expect(try next()["conversation"]["participantCount"] == 2)
            try api.deleteConversation(id)
            let deleted = try client.nextEvent("conversations")
            #expect(Shape.removalEvent(of: id).faults(deleted) == [])
        }

        @Test func anEventOfTheListIsTheSameForAll() throws {
            let gateway = try LiveGateway.get()
            let users = (0..<3).map { _ in LiveGateway.name("user") }
            let id = try gateway.conversation(of: users)
            let clients = try users.map { try gateway.client($0) }
            for client in clients { try client.request("subscribeConversations") }
            try clients[0].request("sendMessage", ["conversation": .string(id), "body": "b"])
            let events = try clients.map { try $0.nextEvent("conversations") }
            #expect(Set(events).count == 1)
            #expect(Shape.listEvent.faults(events[0]) == [])
        }

        @Test func afterUnsubscribingThereAreNoMoreEvents() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let id = try gateway.conversation(of: [user])
            let client = try gateway.client(user)
            try client.request("subscribeConversations")
            for _ in 0..<2 { #expect(try client.request("unsubscribeConversations") == [:]) }
            try gateway.api().post(["author": "x", "body": "b"], to: id)
            try client.settle()
            #expect(client.events.isEmpty)
        }

        @Test func othersConversationsAreNobodysBusiness() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let client = try gateway.client(user)
            try client.request("subscribeConversations")
            let id = try gateway.conversation(of: ["other"], messages: 3)
            try gateway.api().put(id, ["title": "secret"])
            try gateway.api().deleteConversation(id)
            try client.settle()
            #expect(client.events.isEmpty)
            #expect(try client.request("fetchConversations")["total"] == 0)
        }
    }
}
