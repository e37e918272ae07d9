import TestSupport
import Testing

/// `protocol.md` 3 and 5: what is unread, for those who asked for it.
extension DefaultGateway {
    @Suite struct UnreadTests {
        private func client(_ user: String) throws -> ChatTestClient {
            let client = try ChatTestClient(port: LiveGateway.get().port)
            try client.connect(user: user, unread: true)
            return client
        }

        @Test func listsSayWhatIsUnreadOverAllConversations() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let client = try client(user)
            #expect(
                try client.request("fetchConversations")
                    == [
                        "conversations": [], "total": 0,
                        "unreadTotal": ["messages": 0, "conversations": 0, "mentions": 0],
                    ])
            var deleted = ""
            for count in [2, 3, 0, 1] {
                let id = try gateway.conversation(of: ["other", user], messages: count)
                if count == 3 { deleted = id }
            }
            // Those that are one's own, read, deleted, or of a conversation that was left do not
            // count.
            let own = try gateway.conversation(of: [user, "other"], messages: 4)
            let read = try gateway.conversation(of: ["other", user], messages: 5)
            try client.request("markRead", ["conversation": .string(read), "seq": 4])
            let left = try gateway.conversation(of: ["other", user], messages: 6)
            try client.request("leaveConversation", ["conversation": .string(left)])
            try gateway.api().call("DELETE", "/v1/conversations/\(deleted)/messages/m2")
            // 2 + (3 - 1) + 0 + 1 and the last of those that were read.
            let expected: JSONValue = ["messages": 6, "conversations": 4, "mentions": 0]
            var params: JSONValue = ["limit": 2]
            repeat {
                let part = try client.request("fetchConversations", params)
                #expect(
                    Shape.conversationList.with([
                        "unreadTotal": .shape(Shape.unreadTotal)
                    ]).faults(part) == [])
                #expect(part["unreadTotal"] == expected)
                params["cursor"] = part["next"]
            } while params["cursor"] != .null
            let list = try client.request("subscribeConversations")
            #expect(list["unreadTotal"] == expected && list["complete"] == false)
            #expect(
                Shape.conversationChanges.with([
                    "unreadTotal": .shape(Shape.unreadTotal)
                ]).faults(list) == [])
            // So do answers that hold only what changed.
            try gateway.api().post(["author": "other", "body": "b"], to: own)
            let changes = try client.request("subscribeConversations", ["since": list["token"]])
            #expect(changes["complete"] == true)
            #expect(changes["unreadTotal"] == ["messages": 7, "conversations": 5, "mentions": 0])
        }

        /// Without a subscription to the list, or to anything.
        @Test func anEventTellsTheTotalWhenItChanges() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let first = try gateway.conversation(of: ["other", user], messages: 2)
            let client = try client(user)
            func hears(_ messages: Int, _ conversations: Int) throws {
                let event = try client.nextEvent("unread") {
                    $0["messages"].int == messages && $0["conversations"].int == conversations
                        && $0["open"] == .null
                }
                #expect(Shape.unread.faults(event) == [])
            }
            try hears(2, 1)
            let api = gateway.api()
            try api.post(["author": "other", "body": "b"], to: first)
            try hears(3, 1)
            let second = try gateway.conversation(of: ["other", user], messages: 4)
            try hears(7, 2)
            try api.call("DELETE", "/v1/conversations/\(second)/messages/m3")
            try hears(6, 2)
            // Another device of the same user.
            let device = try gateway.client(user)
            try device.request("markRead", ["conversation": .string(second), "seq": 2])
            try hears(4, 2)
            try device.request(
                "sendMessage", ["conversation": .string(first), "body": "mine"])
            try hears(1, 1)
            try api.post(["author": "other", "body": "b"], to: first)
            try hears(2, 2)
            try api.remove(user, from: second)
            try hears(1, 1)
            try api.deleteConversation(first)
            try hears(0, 0)
            try device.settle()
            #expect(device.events("unread").isEmpty)
        }

        @Test func eventsComeAtMostOnceASecond() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let conversation = try gateway.conversation(of: ["other", user])
            let client = try client(user)
            let list = try client.request("subscribeConversations")
            #expect(list["unreadTotal"] == ["messages": 0, "conversations": 0, "mentions": 0])
            let clock = ContinuousClock()
            let start = clock.now
            for _ in 0..<60 {
                try gateway.api().post(["author": "other", "body": "b"], to: conversation)
            }
            var count = 0
            while true {
                let event = try client.nextEvent("unread")
                count += 1
                if event["messages"].int == 60, event["open"] == .null { break }
            }
            let seconds = Int((clock.now - start).components.seconds)
            #expect(count <= seconds + 2)
        }

        @Test func whoDoesNotAskIsNotTold() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            _ = try gateway.conversation(of: ["other", user], messages: 1)
            let client = try gateway.client(user)
            let list = try client.request("fetchConversations")
            #expect(Shape.conversationList.faults(list) == [])
            let changes = try client.request("subscribeConversations")
            #expect(Shape.conversationChanges.faults(changes) == [])
            let refusing = try ChatTestClient(port: gateway.port)
            #expect(
                try refusing.code("connect", ["user": .string(user), "unread": 1]) == "bad_request")
        }
    }
}
