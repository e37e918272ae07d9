import Foundation
import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// Pages, conversations and participants, with their answers from the cache first.
    @Suite struct Reading {
        /// The answer that counts, of all that come.
        private func last<Value: Sendable>(
            _ phases: AsyncThrowingStream<ChatClient.Phase<Value>, any Error>
        ) async throws -> Value {
            var answers: [ChatClient.Phase<Value>] = []
            for try await phase in phases { answers.append(phase) }
            #expect(answers.last?.isCached == false)
            return try #require(answers.last).value
        }

        @Test func pagesComeByTheNamesOfTheDocuments() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try api.post(
                (1...30).map { ["author": "bob", "body": .string("text \($0)")] }, to: "ops")
            let client = try client(gateway, "alice")
            client.connect()
            #expect(try await eventually { client.pubsub.isConnected })
            var messages = try await client.fetchMessages(
                conversation: "ops", beforeMessage: nil, limit: 10)
            #expect(messages.map(\.seq) == (21...30).reversed())
            messages = try await client.fetchMessages(
                conversation: "ops", beforeMessage: messages.last, limit: 5, order: .asc)
            #expect(messages.map(\.seq) == [16, 17, 18, 19, 20])
            messages = try await client.fetchMessages(
                conversation: "ops", afterMessage: messages[0], limit: 3)
            #expect(messages.map(\.seq) == [19, 18, 17])
            let frame = try await client.fetchMessages(
                conversation: "ops", PageRequest(around: .seq(5), limit: 2))
            #expect(frame.covers == [[3, 7]])
            #expect(frame.hasMore == Timeline.HasMore(before: true, after: true))
            let found = try await client.findBoundaries(conversation: "ops")
            #expect(found.boundaries.map { [$0.oldest.seq, $0.newest.seq] } == [[1, 30]])
            var answers = 0
            for try await phase in client.messages(conversation: "ops") where !phase.isCached {
                answers += phase.value.messages.count
            }
            #expect(answers == 30)
        }

        @Test func participantsComeInPagesAndAll() async throws {
            let gateway = try GatewayProcess()
            let names = (0..<5).map { JSONValue.string("user-\($0)") }
            try gateway.api().put("ops", ["participants": .array(["alice"] + names)])
            let client = try client(gateway, "alice")
            client.connect()
            #expect(try await eventually { client.pubsub.isConnected })
            let all = try await client.fetchParticipants(conversationID: "ops")
            #expect(all.total == 6 && all.participants.count == 6)
            var options = ParticipantsOptions()
            options.limit = 2
            options.offset = 1
            options.order = .asc
            let some = try await client.fetchParticipants(conversationID: "ops", options: options)
            #expect(some.participants.count == 2 && some.total == 6 && some.offset == 1)
            #expect(some.participants == Array(all.participants.reversed()[1...2]))
            await #expect(throws: ClientError.self) {
                try await client.fetchParticipants(conversationID: "none")
            }
        }

        @Test func theListOfConversationsFollowsWhatIsSaid() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            for id in ["a", "b"] { try api.put(id, ["participants": ["alice", "bob"]]) }
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let list = Watched()
            let task = client.subscribeConversations { deltas, news in
                list.set(news.list, deltas.count)
            }
            client.connect()
            #expect(try await eventually { list.ids.count == 2 })
            try api.post(["author": "bob", "body": "one"], to: "a")
            #expect(try await eventually { list.ids.first == "a" && list.unread["a"] == 1 })
            try api.post(["author": "bob", "body": "two"], to: "b")
            #expect(try await eventually { list.ids.first == "b" && list.unread["b"] == 1 })
            try await client.markRead(conversation: "b", upTo: 1)
            #expect(try await eventually { list.unread["b"] == 0 })
            proxy.set(.refusing)
            #expect(try await eventually { !client.pubsub.isConnected })
            try api.post(["author": "bob", "body": "three"], to: "a")
            try api.deleteConversation("b")
            try api.put("c", ["participants": ["alice", "bob"]])
            proxy.set(.open)
            client.wake()
            #expect(try await eventually { Set(list.ids) == ["a", "c"] && list.unread["a"] == 2 })
            let titles = try await last(client.conversations()).conversations.map(\.id)
            #expect(titles == list.ids)
            #expect(try await last(client.conversation("a")).participantCount == 2)
            let people = try await last(client.participants(conversationID: "a"))
            #expect(Set(people.participants.map(\.id)) == ["alice", "bob"])
            let page = try await client.fetchConversations()
            #expect(page.conversations.map(\.id) == list.ids && page.total == 2)
            let created = try await client.createConversation(
                id: "d", title: "Dogs", participants: ["bob"])
            #expect(created.admins == ["alice"] && created.title == "Dogs")
            try await client.updateConversation("d", title: "Cats")
            #expect(try await client.fetchConversation("d").title == "Cats")
            try await client.changeMembers(of: "d", .removeParticipants, users: ["bob"])
            #expect(try await client.fetchConversation("d").participants == ["alice"])
            try await client.deleteConversation("d")
            try await client.leaveConversation("c")
            #expect(try await eventually { list.ids == ["a"] })
            task.cancel()
        }

        @Test func handlersOfTheConnectionAreCalled() async throws {
            let gateway = try GatewayProcess()
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let events = Watched()
            client.pubsub.onConnect { events.note("up") }
            client.pubsub.onDisconnect { events.note("down") }
            client.connect()
            #expect(try await eventually { events.notes == ["up"] })
            proxy.set(.refusing)
            #expect(try await eventually { events.notes == ["up", "down"] })
            #expect(!client.pubsub.isConnected)
            proxy.set(.open)
            client.wake()
            #expect(try await eventually { events.notes == ["up", "down", "up"] })
            client.disconnect()
            #expect(try await eventually { events.notes.last == "down" })
        }

        /// An application that keeps a plain list by the functions of the document.
        @Test func aHandlerAndApplyDeltaKeepAList() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try api.post(["author": "bob", "body": "one"], to: "ops")
            let client = try client(gateway, "alice")
            let list = Watched()
            let task = client.subscribeMessages(conversation: "ops") { deltas, _ in
                list.apply(deltas)
            }
            client.connect()
            #expect(try await eventually { list.bodies == ["one"] })
            let two = try api.post(["author": "bob", "body": "two"], to: "ops")
            try api.edit(two["id"].string ?? "", in: "ops", ["body": "TWO"])
            #expect(try await eventually { list.bodies == ["one", "TWO"] })
            #expect(list.boundaryCount == 1)
            task.cancel()
        }
    }
}
