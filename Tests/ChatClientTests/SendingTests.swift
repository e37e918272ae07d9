import ChatClient
import Foundation
import TestSupport
import Testing

extension LiveClient {
    /// What is sent is shown at once, arrives once, and never leaves the list in between.
    @Suite struct Sending {
        @Test func aMessageIsShownAtOnceAndStaysOneRow() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            #expect(try await eventually { await follower.isLive })
            let id = client.send("hi", to: "ops")
            #expect(try await eventually { await follower.revs.count == 1 })
            #expect(await follower.items.map(\.id) == [id])
            // Once it is there it is there in every state that a view could have drawn.
            let rows = await follower.rows
            let first = try #require(rows.firstIndex { $0.contains(id) })
            #expect(rows[first...].allSatisfy { $0 == [id] })
            #expect(await client.drafts(in: "ops").isEmpty)
        }

        @Test func whatIsWrittenOfflineArrivesOnceAndInOrder() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            #expect(try await eventually { await follower.isLive })
            proxy.set(.flapping)
            let ids = (0..<30).map { client.send("text \($0)", to: "ops") }
            #expect(await client.drafts(in: "ops").count > 0)
            try await Task.sleep(for: .milliseconds(300))
            proxy.set(.open)
            client.wake()
            #expect(
                try await eventually {
                    client.wake()
                    return await follower.revs.count == 30
                })
            let truth = try #require(try api.learnChanges(of: "ops").log)
            #expect(truth.messages.compactMap { $0["id"].string } == ids)
            #expect(truth.headRev == 31)
            #expect(await follower.items.map(\.id) == ids)
            #expect(await client.drafts(in: "ops").isEmpty)
        }

        @Test func whatIsRefusedFailsAndCanBeGivenUp() async throws {
            let gateway = try GatewayProcess(settings: ["limits.message": "1KiB"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let client = try client(gateway, "alice")
            client.connect()
            let id = client.send(String(repeating: "x", count: 5000), to: "ops")
            let next = client.send("short", to: "ops")
            #expect(
                try await eventually {
                    let drafts = await client.drafts(in: "ops")
                    guard drafts.count == 1, case .failed(let error) = drafts[0].state else {
                        return false
                    }
                    return error.code == .tooLarge && drafts[0].id == id
                })
            client.discard(id, in: "ops")
            #expect(try await eventually { await client.drafts(in: "ops").isEmpty })
            let messages = try api.page("ops", "limit=10")["messages"].array ?? []
            #expect(messages.map { $0["id"].string } == [next])
        }

        @Test func editsAndDeletionsAreShownFromTheirAnswers() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            let id = client.send("hi", to: "ops")
            #expect(try await eventually { await follower.revs.count == 1 })
            let edited = try await client.edit(id, in: "ops", body: "hello")
            #expect(edited.body == "hello" && edited.editedAt != nil)
            #expect(try await eventually { await follower.items.first?.body == "hello" })
            let deleted = try await client.delete(id, in: "ops")
            #expect(deleted.isDeleted)
            #expect(try await eventually { await follower.items.first?.isDeleted == true })
            let read = try await client.markRead(conversation: "ops", upTo: 1)
            #expect(read.lastReadSeq == 1 && read.unreadCount == 0)
            try await client.typing(conversation: "ops", .begin)
            await #expect(throws: ClientError.self) {
                try await client.edit("nothing", in: "ops", body: "")
            }
        }
    }
}
