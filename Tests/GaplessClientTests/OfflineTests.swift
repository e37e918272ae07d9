import Foundation
import GaplessClient
import Synchronization
import Testing
import TestSupport

extension LiveClient {
    /// With a store, what is fetched comes from there first; without a connection it ends in a
    /// clear error after that.
    @Suite struct Offline {
        /// What a fetch came to: each cached answer, and the error.
        private func offline<Value: Sendable>(
            _ fetch: (@escaping @Sendable (Value) -> Void) async throws -> Value
        ) async -> (cached: [Value], error: ClientError?) {
            let cached = Mutex<[Value]>([])
            do {
                _ = try await fetch { value in cached.withLock { $0.append(value) } }
                return (cached.withLock { $0 }, nil)
            } catch {
                return (cached.withLock { $0 }, error as? ClientError)
            }
        }

        private struct Place {
            let gateway: GatewayProcess
            let api: ServerAPI
            let path: String

            init() throws {
                gateway = try GatewayProcess()
                api = gateway.api()
                path = gateway.directory.appendingPathComponent("alice.db").path
                try api.put("ops", ["title": "Ops", "participants": ["alice", "bob"]])
                try api.post(
                    (1...30).map { ["author": "bob", "body": .string("text \($0)")] }, to: "ops")
            }

            /// A client that never connects.
            func disconnected() throws -> ChatClient {
                try LiveClient.client(gateway, "alice", store: path)
            }

            func connected() async throws -> ChatClient {
                let client = try disconnected()
                client.connect()
                #expect(try await LiveClient.eventually { client.pubsub.isConnected })
                return client
            }
        }

        @Test func whatWasAnsweredIsShownOffline() async throws {
            let place = try Place()
            var options = ParticipantsOptions()
            options.limit = 1
            let asked = options
            let page = PageRequest(before: .seq(20), limit: 5)
            try await { () async throws in
                let client = try await place.connected()
                _ = try await client.fetchConversations()
                _ = try await client.fetchConversation("ops")
                _ = try await client.fetchMessages(conversation: "ops", page)
                _ = try await client.fetchParticipants(conversationID: "ops", options: asked)
            }()
            let client = try place.disconnected()
            let list = await offline { try await client.fetchConversations(cached: $0) }
            #expect(list.cached.map { $0.conversations.map(\.title) } == [["Ops"]])
            #expect(list.error == .disconnected)
            let one = await offline { try await client.fetchConversation("ops", cached: $0) }
            #expect(one.cached.map(\.title) == ["Ops"] && one.error == .disconnected)
            let messages = await offline {
                try await client.fetchMessages(conversation: "ops", page, cached: $0)
            }
            #expect(messages.cached.map { $0.messages.map(\.seq) } == [[19, 18, 17, 16, 15]])
            #expect(messages.error == .disconnected)
            let people = await offline {
                try await client.fetchParticipants(
                    conversationID: "ops", options: asked, cached: $0)
            }
            #expect(people.cached.map(\.total) == [2] && people.cached[0].participants.count == 1)
            // Another question was never answered.
            let other = await offline {
                try await client.fetchParticipants(conversationID: "ops", cached: $0)
            }
            #expect(other.cached.isEmpty && other.error == .disconnected)
            // As a sequence: the one answer, then the error.
            var phases: [Bool] = []
            await #expect(throws: ClientError.disconnected) {
                for try await phase in client.messages(conversation: "ops", page) {
                    phases.append(phase.isCached)
                }
            }
            #expect(phases == [true])
        }

        @Test func whatIsHeldIsShownOffline() async throws {
            let place = try Place()
            try await { () async throws in
                let client = try await place.connected()
                let list = Watched()
                let task = client.subscribeConversations { list.set($1.list, $0.count) }
                #expect(try await eventually { list.ids == ["ops"] })
                // A fetched page that is older than what is held then.
                _ = try await client.fetchMessages(
                    conversation: "ops", PageRequest(before: .seq(4), limit: 9))
                let follower = Follower("ops", reader: "alice")
                await follower.follow(client.subscribeMessages(conversation: "ops"))
                #expect(try await eventually { await follower.revs.count == 30 })
                let first = try place.api.page("ops", "after=0&limit=1&order=asc")["messages"][0]
                try place.api.edit(first["id"].string ?? "", in: "ops", ["body": "edited"])
                try place.api.put("ops", ["title": "Operations"])
                #expect(try await eventually { await follower.items.first?.body == "edited" })
                #expect(try await eventually { list.titles == ["Operations"] })
                await follower.stop()
                task.cancel()
            }()
            let client = try place.disconnected()
            let latest = await offline {
                try await client.fetchMessages(
                    conversation: "ops", beforeMessage: nil, limit: 3, cached: $0)
            }
            #expect(latest.cached.map { $0.map(\.seq) } == [[30, 29, 28]])
            #expect(latest.error == .disconnected)
            let older = await offline {
                try await client.fetchMessages(
                    conversation: "ops", PageRequest(before: .seq(4), limit: 9), cached: $0)
            }
            #expect(
                older.cached.map { $0.messages.map(\.body) }
                    == [["text 3", "text 2", "edited"]])
            #expect(older.cached.map(\.hasMore?.before) == [false])
            let list = await offline { try await client.fetchConversations(cached: $0) }
            #expect(list.cached.map { $0.conversations.map(\.title) } == [["Operations"]])
            let one = await offline { try await client.fetchConversation("ops", cached: $0) }
            #expect(one.cached.map(\.title) == ["Operations"])
        }

        @Test func onlineTheStoreAnswersFirst() async throws {
            let place = try Place()
            let client = try await place.connected()
            _ = try await client.fetchParticipants(conversationID: "ops")
            try place.api.put("ops", ["participants": ["alice", "bob", "carol"]])
            let totals = Mutex<[Int]>([])
            let fresh = try await client.fetchParticipants(conversationID: "ops") { response in
                totals.withLock { $0.append(response.total) }
            }
            #expect(totals.withLock { $0.first } == 2)
            #expect(fresh.total == 3)
        }

        @Test func whatIsNoLongerOursIsNotShownAgain() async throws {
            let place = try Place()
            let client = try await place.connected()
            _ = try await client.fetchMessages(conversation: "ops")
            _ = try await client.fetchParticipants(conversationID: "ops")
            try place.api.remove("alice", from: "ops")
            await #expect(throws: ClientError.self) {
                try await client.fetchConversation("ops")
            }
            client.disconnect()
            let people = await offline {
                try await client.fetchParticipants(conversationID: "ops", cached: $0)
            }
            #expect(people.cached.isEmpty && people.error != nil)
            let messages = await offline {
                try await client.fetchMessages(conversation: "ops", cached: $0)
            }
            #expect(messages.cached.isEmpty && messages.error != nil)
        }
    }
}
