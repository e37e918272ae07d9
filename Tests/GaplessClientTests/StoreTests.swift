import Foundation
import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// A client with a store begins where the last one ended, and forgets on logout.
    @Suite struct Stores {
        @Test func whatWasHeldIsThereAgainAndResumed() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            let path = gateway.directory.appendingPathComponent("alice.db").path
            try api.put("ops", ["participants": ["alice", "bob"]])
            try api.post(
                (0..<50).map { ["author": "bob", "body": .string("text \($0)")] }, to: "ops")
            try await { () async throws in
                let client = try LiveClient.client(gateway, "alice", store: path)
                let follower = Follower("ops", reader: "alice")
                await follower.follow(client.subscribeMessages(conversation: "ops"))
                client.connect()
                #expect(try await eventually { await follower.revs.count == 50 })
                await follower.stop()
            }()
            // What was written while nobody was there, and an edit of what is stored.
            try api.post(["author": "bob", "body": "news"], to: "ops")
            let third = try api.page("ops", "after=2&limit=1&order=asc")["messages"][0]
            try api.edit(third["id"].string ?? "", in: "ops", ["body": "edited"])
            let truth = try #require(try api.learnChanges(of: "ops").log)

            let client = try LiveClient.client(gateway, "alice", store: path)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            // Before it is connected, all that was held is there.
            #expect(try await eventually { await follower.revs.count == 50 })
            client.connect()
            #expect(try await eventually { await follower.revs == truth.newest })
            #expect(await follower.begun == 1)
            #expect(await follower.resumed == 1)
        }

        @Test func draftsOutliveTheClient() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            let path = gateway.directory.appendingPathComponent("alice.db").path
            try api.put("ops", ["participants": ["alice", "bob"]])
            let id = try await { () async throws in
                let client = try LiveClient.client(gateway, "alice", store: path)
                let id = client.send("later", to: "ops")
                #expect(await client.drafts(in: "ops").count == 1)
                return id
            }()
            let client = try LiveClient.client(gateway, "alice", store: path)
            #expect(try await eventually { await client.drafts(in: "ops").map(\.id) == [id] })
            client.connect()
            #expect(try await eventually { await client.drafts(in: "ops").isEmpty })
            let messages = try api.page("ops", "limit=10")["messages"].array ?? []
            #expect(messages.map { $0["id"].string } == [id])
        }

        @Test func logoutErasesEverything() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            let path = gateway.directory.appendingPathComponent("alice.db").path
            try api.put("ops", ["participants": ["alice", "bob"]])
            try api.post(["author": "bob", "body": "a secret word"], to: "ops")
            let client = try LiveClient.client(gateway, "alice", store: path)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            #expect(try await eventually { await follower.revs.count == 1 })
            #expect(FileManager.default.fileExists(atPath: path))
            await client.logout()
            for suffix in ["", "-wal", "-shm"] {
                #expect(!FileManager.default.fileExists(atPath: path + suffix))
            }
        }

        @Test func aFileThatIsNoStoreIsReplaced() async throws {
            let gateway = try GatewayProcess()
            let path = gateway.directory.appendingPathComponent("alice.db").path
            try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: path))
            let client = try LiveClient.client(gateway, "alice", store: path)
            #expect(await client.drafts(in: "ops").isEmpty)
            #expect(throws: ChatClient.SetupError.self) {
                try LiveClient.client(gateway, "alice", store: "/nowhere/at/all.db")
            }
        }
    }
}
