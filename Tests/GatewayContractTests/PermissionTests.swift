import TestSupport
import Testing

/// `protocol.md` 2 and 3: who may do what. For one who does not take part nothing is there at all;
/// the rest goes by author, admin and participant.
extension DefaultGateway {
    @Suite struct PermissionTests {
        /// Every method that is about a conversation, with params that would be good otherwise.
        static let methods: [(String, JSONValue)] = [
            ("subscribeMessages", [:]), ("fetchConversation", [:]), ("fetchMessages", [:]),
            ("fetchMessages", ["before": "m1"]), ("fetchParticipants", [:]),
            ("findBoundaries", [:]), ("sendMessage", ["body": "b"]),
            ("sendMessage", ["id": "m1", "body": "text 1"]),
            ("editMessage", ["id": "m1", "body": "b"]), ("deleteMessage", ["id": "m1"]),
            ("updateConversation", ["title": "t"]), ("addParticipants", ["users": ["mallory"]]),
            ("removeParticipants", ["users": ["mallory"]]),
            ("removeParticipants", ["users": ["alice"]]), ("addAdmins", ["users": ["mallory"]]),
            ("removeAdmins", ["users": ["alice"]]), ("deleteConversation", [:]),
            ("leaveConversation", [:]), ("markRead", ["seq": 1]), ("markRead", ["seq": 99]),
            ("typing", ["state": "begin"]),
        ]

        @Test(arguments: methods.indices)
        func forAStrangerNothingIsThere(row: Int) throws {
            let gateway = try LiveGateway.get()
            let (method, fields) = Self.methods[row]
            let id = try gateway.conversation(of: ["alice"], admins: ["alice"], messages: 2)
            let former = try gateway.conversation(of: ["alice", "mallory"], messages: 2)
            try gateway.api().remove("mallory", from: former)
            let deleted = try gateway.conversation(of: ["alice", "mallory"], messages: 2)
            try gateway.api().deleteConversation(deleted)
            let stranger = try gateway.client("mallory")
            let before = try gateway.api().conversation(id)
            var messages: Set<String> = []
            for conversation in [id, former, deleted, "nowhere", id.uppercased(), id + " "] {
                var params = fields
                params["conversation"] = .string(conversation)
                let error = #expect(throws: ChatTestClient.RequestFailed.self) {
                    try stranger.request(method, params)
                }
                #expect(error?.code == "not_found" && error?.retry == "never", "\(conversation)")
                messages.insert(error?.message ?? "")
            }
            // Nothing tells a conversation that is there from one that is not.
            #expect(messages.count == 1)
            #expect(try gateway.api().conversation(id) == before)
        }

        @Test func unsubscribingTellsAStrangerNothing() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let stranger = try gateway.client("mallory")
            let answers = try [id, "nowhere"].map {
                try stranger.code("unsubscribeMessages", ["conversation": .string($0)])
            }
            #expect(Set(answers).count == 1)
        }

        @Test func aStrangerHearsNothing() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            // Others let mallory in meanwhile.
            let stranger = try gateway.client("trudy")
            #expect(
                try stranger.code("subscribeMessages", ["conversation": .string(id)]) == "not_found"
            )
            try stranger.request("subscribeConversations")
            let alice = try gateway.client("alice")
            try alice.request("sendMessage", ["conversation": .string(id), "body": "b"])
            try alice.request("typing", ["conversation": .string(id), "state": "begin"])
            try alice.request("markRead", ["conversation": .string(id), "seq": 1])
            try stranger.settle()
            #expect(stranger.events.isEmpty)
        }

        @Test func onlyTheAuthorEditsAndAnAdminMayDelete() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(
                of: ["alice", "admin", "bob"], admins: ["admin"], messages: 4)
            let edit: JSONValue = ["conversation": .string(id), "id": "m1", "body": "b"]
            let (alice, admin) = (try gateway.client("alice"), try gateway.client("admin"))
            let bob = try gateway.client("bob")
            #expect(try bob.code("editMessage", edit) == "forbidden")
            #expect(try admin.code("editMessage", edit) == "forbidden")
            #expect(try alice.code("editMessage", edit) == "ok")
            func delete(_ client: ChatTestClient, _ message: String) throws -> String {
                try client.code(
                    "deleteMessage", ["conversation": .string(id), "id": .string(message)])
            }
            #expect(try delete(bob, "m1") == "forbidden")
            #expect(try delete(alice, "m1") == "ok")
            #expect(try delete(admin, "m2") == "ok")
            #expect(try delete(bob, "nowhere") == "not_found")
            #expect(
                try alice.code(
                    "editMessage", ["conversation": .string(id), "id": "nowhere", "body": "b"])
                    == "not_found")
        }

        @Test func whereThereAreAdminsOnlyTheyChangeTheRecord() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["admin", "bob", "carol"], admins: ["admin"])
            let bob = try gateway.client("bob")
            let changes: [(String, JSONValue)] = [
                ("updateConversation", ["title": "t"]), ("addParticipants", ["users": ["dave"]]),
                ("removeParticipants", ["users": ["carol"]]), ("addAdmins", ["users": ["bob"]]),
                ("removeAdmins", ["users": ["admin"]]), ("deleteConversation", [:]),
            ]
            for (method, fields) in changes {
                var params = fields
                params["conversation"] = .string(id)
                #expect(try bob.code(method, params) == "forbidden", "\(method)")
            }
            #expect(try gateway.api().conversation(id)["rev"] == 1)
            let admin = try gateway.client("admin")
            for (method, fields) in changes.filter({ $0.0 != "removeAdmins" }) {
                var params = fields
                params["conversation"] = .string(id)
                #expect(try admin.code(method, params) == "ok", "\(method)")
            }
        }

        @Test func whereThereAreNoneEveryParticipantDoesButDeletes() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let bob = try gateway.client("bob")
            let changes: [(String, JSONValue, String)] = [
                ("updateConversation", ["title": "t"], "ok"),
                ("addParticipants", ["users": ["carol"]], "ok"),
                ("removeParticipants", ["users": ["carol"]], "ok"),
                ("deleteConversation", [:], "forbidden"),
                ("deleteMessage", ["id": "x"], "forbidden"),
                ("addAdmins", ["users": ["bob"]], "ok"),
                ("deleteMessage", ["id": "x"], "ok"), ("removeAdmins", ["users": ["bob"]], "ok"),
            ]
            try gateway.api().post(["id": "x", "author": "alice", "body": "b"], to: id)
            for (method, fields, code) in changes {
                var params = fields
                params["conversation"] = .string(id)
                #expect(try bob.code(method, params) == code, "\(method)")
            }
        }

        @Test func whoRemovesNobodyButOneselfLeaves() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["admin", "bob"], admins: ["admin"])
            let bob = try gateway.client("bob")
            try bob.subscribe(id)
            let params: JSONValue = ["conversation": .string(id), "users": ["bob"]]
            #expect(try bob.code("removeParticipants", params) == "ok")
            #expect(try bob.nextEvent("unsubscribed")["reason"] == "removed")
            #expect(try bob.code("removeParticipants", params) == "not_found")
        }

        @Test func oneMaySendInOnesOwnNameOnly() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let message = try gateway.client("alice").request(
                "sendMessage",
                [
                    "conversation": .string(id), "body": "b", "author": "bob", "seq": 77, "rev": 9,
                    "createdAt": "2001-01-01T00:00:00.000Z", "deleted": true,
                ])["message"]
            #expect(Shape.message.faults(message) == [])
            #expect(message["author"] == "alice" && message["seq"] == 1)
            #expect(message["createdAt"].string?.hasPrefix("2001") == false)
        }
    }
}
