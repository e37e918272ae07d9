import Foundation
import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// What is sent is shown at once, arrives once, and never leaves the list in between.
    @Suite struct Sending {
        @Test func aMessageIsShownAtOnceAndStaysOneRow() async throws {
            let room = try await OpsRoom()
            #expect(try await eventually { await room.follower.isLive })
            let id = room.client.send("hi", to: "ops")
            #expect(try await eventually { await room.follower.revs.count == 1 })
            #expect(await room.follower.items.map(\.id) == [id])
            // Once it is there it is there in every state that a view could have drawn.
            let rows = await room.follower.rows
            let first = try #require(rows.firstIndex { $0.contains(id) })
            #expect(rows[first...].allSatisfy { $0 == [id] })
            #expect(await room.client.drafts(in: "ops").isEmpty)
        }

        @Test func whatIsWrittenOfflineArrivesOnceAndInOrder() async throws {
            let room = try await OpsRoom(isCuttable: true)
            #expect(try await eventually { await room.follower.isLive })
            try room.set(.flapping)
            let ids = (0..<30).map { room.client.send("text \($0)", to: "ops") }
            #expect(await room.client.drafts(in: "ops").count > 0)
            try await Task.sleep(for: .milliseconds(300))
            try room.set(.open)
            #expect(
                try await eventually {
                    room.client.wake()
                    return await room.follower.revs.count == 30
                })
            let truth = try #require(try room.api.learnChanges(of: "ops").log)
            #expect(truth.messages.compactMap { $0["id"].string } == ids)
            #expect(truth.headRev == 31)
            #expect(await room.follower.items.map(\.id) == ids)
            #expect(await room.client.drafts(in: "ops").isEmpty)
        }

        @Test func whatIsRefusedFailsAndCanBeGivenUp() async throws {
            let room = try await OpsRoom(settings: ["limits.message": "1KiB"])
            let id = room.client.send(String(repeating: "x", count: 5000), to: "ops")
            let next = room.client.send("short", to: "ops")
            #expect(
                try await eventually {
                    let drafts = await room.client.drafts(in: "ops")
                    guard drafts.count == 1, case .failed(let error) = drafts[0].state else {
                        return false
                    }
                    return error.code == .tooLarge && drafts[0].id == id
                })
            room.client.discard(id, in: "ops")
            #expect(try await eventually { await room.client.drafts(in: "ops").isEmpty })
            let messages = try room.api.page("ops", "limit=10")["messages"].array ?? []
            #expect(messages.map { $0["id"].string } == [next])
        }

        @Test func whatWasTrimmedSinceItWasSentIsNoDraftAnyMore() async throws {
            let redis = try RedisProcess(keeping: .nothing)
            let room = try await OpsRoom(
                settings: [
                    "upstream.kind": "redis", "upstream.redis.url": redis.url,
                    "upstream.redis.retain": "10",
                ], isCuttable: true)
            #expect(try await eventually { await room.follower.isLive })
            try await room.cut()
            let id = room.client.send("hi", to: "ops")
            // It arrived, the answer did not, and much was said since.
            try room.api.post([["id": .string(id), "author": "alice", "body": "hi"]], to: "ops")
            for _ in 0..<3 { try room.write(10) }
            try room.set(.open)
            #expect(try await eventually { await room.client.drafts(in: "ops").isEmpty })
            #expect(await room.follower.items.allSatisfy { $0.id != id })
        }

        @Test func editsAndDeletionsAreShownFromTheirAnswers() async throws {
            let room = try await OpsRoom()
            let id = room.client.send("hi", to: "ops")
            #expect(try await eventually { await room.follower.revs.count == 1 })
            let edited = try await room.client.edit(id, in: "ops", body: "hello")
            #expect(edited.body == "hello" && edited.editedAt != nil)
            #expect(try await eventually { await room.follower.items.first?.body == "hello" })
            let deleted = try await room.client.delete(id, in: "ops")
            #expect(deleted.isDeleted)
            #expect(try await eventually { await room.follower.items.first?.isDeleted == true })
            let read = try await room.client.markRead(conversation: "ops", upTo: 1)
            #expect(read.lastReadSeq == 1 && read.unreadCount == 0)
            try await room.client.typing(conversation: "ops", .begin)
            await #expect(throws: ClientError.self) {
                try await room.client.edit("nothing", in: "ops", body: "")
            }
        }
    }
}
