import TestSupport
import Testing

/// `protocol.md` 3, 5 and 9: what is unread, for those who asked for it.
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
                        "unreadTotal": ["messages": 0, "conversations": 0],
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
            let expected: JSONValue = ["messages": 6, "conversations": 4]
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
            #expect(changes["unreadTotal"] == ["messages": 7, "conversations": 5])
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
