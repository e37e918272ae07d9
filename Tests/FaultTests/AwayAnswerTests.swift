import TestSupport
import Testing

/// An origin that a test takes away, and the settings that lead to it.
private struct Away {
    let settings: [String: String]
    let leave: () throws -> Void
    let comeBack: () throws -> Void

    enum Kind: String, CaseIterable { case redis, postgres }

    init(_ kind: Kind) throws {
        switch kind {
        case .redis:
            let server = try RedisProcess(keeping: .written)
            settings = Faults.settings.merging(["upstream.redis.url": server.url]) { $1 }
            leave = { server.kill() }
            comeBack = { try server.restart() }
        case .postgres:
            let server = try PostgresProcess()
            let own = [
                "upstream.kind": "postgres", "upstream.postgres.url": try server.database(),
            ]
            settings = Faults.settings.merging(own) { $1 }
            leave = { server.stop() }
            comeBack = { try server.restart() }
        }
    }
}

extension Faults {
    /// What a client that asks for lists and records is answered while the origin is away.
    @Suite struct AwayAnswers {
        private func hears(_ client: ChatTestClient, _ state: JSONValue) throws {
            _ = try client.nextEvent("upstream") { $0["state"] == state }
        }

        /// Says which request was refused.
        private func answer(
            _ client: ChatTestClient, _ method: String, _ params: JSONValue
        ) throws -> JSONValue {
            do {
                return try client.request(method, params)
            } catch {
                Issue.record("\(method) \(params)")
                throw error
            }
        }

        @Test(arguments: Away.Kind.allCases)
        fileprivate func aConversationThatWasReadWholeIsAnsweredAsOpen(_ kind: Away.Kind) throws {
            let origin = try Away(kind)
            let gateway = try GatewayProcess(settings: origin.settings)
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice", "bob"], "title": "Ops"])
            try api.put("c2", ["participants": ["alice", "bob"]])
            try api.call(
                "PUT", "/v1/conversations/c1/participants/alice", ["name": "Alice"])
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            for client in [alice, bob] { try client.subscribe("c1") }
            let c1: JSONValue = ["conversation": "c1"]
            try alice.request("fetchConversation", c1)
            for number in 1...5 {
                try api.post(["author": "bob", "body": .string("\(number)")], to: "c1")
            }
            try alice.request("markRead", ["conversation": "c1", "seq": 2])
            #expect(try alice.wait { $0.holder("c1").messages.count == 5 })
            let before = try alice.request("fetchConversation", c1)["conversation"]
            #expect(before["unreadCount"] == 3)
            let everybody = try alice.request(
                "fetchParticipants", ["conversation": "c1", "order": "asc"])["participants"]
            // What the gateway is told from here on, and does not read.
            try alice.request("markRead", ["conversation": "c1", "seq": 4])
            _ = try alice.nextEvent("read") { $0["user"] == "alice" && $0["seq"] == 4 }
            let last = try api.post(["author": "bob", "body": "6"], to: "c1")
            #expect(try alice.wait { $0.holder("c1").messages.count == 6 })
            try origin.leave()
            try hears(alice, "offline")
            let known = try answer(alice, "fetchConversation", c1)
            #expect(known["open"] == true)
            let shown = known["conversation"]
            #expect(shown["lastMessage"] == last)
            #expect(shown["head"]["seq"] == 6)
            #expect(shown["lastReadSeq"] == 4)
            #expect(shown["unreadCount"] == 2)
            for field in ["title", "participants", "rev", "createdAt", "updatedAt"] {
                #expect(shown[field] == before[field])
            }
            // Bob gets an answer, since the gateway has read all who take part.
            let people = try answer(
                bob, "fetchParticipants", ["conversation": "c1", "order": "asc"])
            #expect(people["open"] == true && people["total"] == 2)
            let (asked, told) = (everybody.elements, people["participants"].elements)
            #expect(told.map { $0["id"] } == ["alice", "bob"])
            #expect(told.map { $0["lastReadSeq"] } == [4, 6])
            for field in ["createdAt", "updatedAt", "metadata", "name"] {
                #expect(told.map { $0[field] } == asked.map { $0[field] })
            }
            #expect(told.first?["name"] == "Alice")
            let second = try answer(
                alice, "fetchParticipants", ["conversation": "c1", "limit": 1, "offset": 1])
            #expect(second["open"] == true && second["participants"].elements == [told[0]])
            let other: JSONValue = ["conversation": "c2"]
            #expect(try code(alice, other, of: "fetchParticipants") == "origin_unavailable")
            // Bob has not read it whole, and nobody follows the other.
            #expect(try code(bob, c1) == "origin_unavailable")
            #expect(try code(alice, ["conversation": "c2"]) == "origin_unavailable")
            try origin.comeBack()
            try hears(alice, "online")
            let isFresh = try Deadline.standard.poll {
                guard try code(alice, c1) == "ok" else { return false }
                return try alice.request("fetchConversation", c1)["open"].isNull
            }
            #expect(isFresh)
        }

        @Test(arguments: Away.Kind.allCases)
        fileprivate func aListThatWasReadWholeIsAnsweredAsOpen(_ kind: Away.Kind) throws {
            let origin = try Away(kind)
            let gateway = try GatewayProcess(settings: origin.settings)
            let api = gateway.api()
            for id in ["c1", "c2", "c3", "c4"] {
                try api.put(id, ["participants": ["alice", "bob"], "title": .string(id)])
                try api.post(["author": "bob", "body": "1"], to: id)
            }
            let alice = try ChatTestClient(port: gateway.port)
            try alice.connect(user: "alice", unread: true)
            let bob = try gateway.client("bob")
            try alice.request("subscribeConversations")
            try rest(gateway)
            let first = try alice.request("fetchConversations", ["limit": 2])
            #expect(first["conversations"].elements.map { $0["id"] } == ["c4", "c3"])
            try api.remove("alice", from: "c4")
            _ = try alice.nextEvent("conversations") {
                $0["deltas"].elements.first?["type"] == "deleted"
            }
            // What something left is read again before it is answered.
            try rest(gateway)
            let token = try alice.request("subscribeConversations")["token"]
            // What the gateway is told from here on, and does not read.
            try alice.request("markRead", ["conversation": "c3", "seq": 1])
            _ = try alice.nextEvent("read") { $0["conversation"] == "c3" }
            let last = try api.post(["author": "bob", "body": "2"], to: "c2")
            _ = try alice.nextEvent("conversations") {
                $0["deltas"].elements.first?["conversation"]["lastMessage"] == last
            }
            try origin.leave()
            try hears(alice, "offline")
            let known = try alice.request("fetchConversations")
            #expect(known["open"] == true && known["total"] == 3)
            let shown = known["conversations"].elements
            #expect(shown.map { $0["id"] } == ["c2", "c3", "c1"])
            #expect(shown.map { $0["unreadCount"] } == [2, 0, 1])
            #expect(shown.first?["lastMessage"] == last)
            #expect(known["unreadTotal"] == ["messages": 3, "conversations": 2, "mentions": 0])
            let rest = try alice.request(
                "fetchConversations", ["limit": 2, "cursor": first["next"]])
            #expect(rest["open"] == true)
            #expect(rest["conversations"].elements.map { $0["id"] } == ["c1"])
            let news = try alice.request("subscribeConversations", ["since": token])
            #expect(news["open"] == true && news["complete"] == true && news["removed"] == [])
            #expect(Set(news["conversations"].elements.map { $0["id"] }) == ["c2", "c3"])
            // Nobody has read Bob's list.
            #expect(try code(bob, [:], of: "fetchConversations") == "origin_unavailable")
            #expect(try code(alice, ["conversation": "c4"]) == "origin_unavailable")
            try origin.comeBack()
            try hears(alice, "online")
            try api.post(["author": "bob", "body": "3"], to: "c1")
            try api.remove("alice", from: "c3")
            let late = try alice.request("subscribeConversations", ["since": news["token"]])
            // With Postgres no token outlives a start of the server: the list begins anew.
            let goesOn = kind == .redis
            #expect(late["open"].isNull && (late["complete"] == true) == goesOn)
            #expect(late["removed"].elements.contains("c3") == goesOn)
            #expect(late["conversations"].elements.map { $0["id"] }.contains("c1"))
            #expect(!late["conversations"].elements.map { $0["id"] }.contains("c3"))
        }

        /// The gateway has asked its origin for nothing more, for longer than it waits with it.
        private func rest(_ gateway: GatewayProcess) throws {
            let kind = "gapless_origin_fetches_total{kind=\"conversation\"}"
            var (asked, quiet) = (-1, Deadline.after(.seconds(3)))
            let isQuiet = try Deadline.standard.poll {
                let now = try gateway.metrics()[kind] ?? 0
                if now != asked { (asked, quiet) = (now, Deadline.after(.seconds(3))) }
                return quiet.isOver
            }
            #expect(isQuiet)
        }

        private func code(
            _ client: ChatTestClient, _ params: JSONValue, of method: String = "fetchConversation"
        ) throws -> String {
            do {
                try client.request(method, params)
                return "ok"
            } catch let error as ChatTestClient.RequestFailed {
                return error.code
            }
        }
    }
}

extension JSONValue {
    fileprivate var elements: [JSONValue] { array ?? [] }
}
