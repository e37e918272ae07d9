import Foundation
import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// Whatever happens to the connection or the gateway, a client ends with what the log has, and
    /// knows on the way what it does not have.
    @Suite struct Outages {
        @Test func messagesEditsAndDeletionsArrive() async throws {
            let room = try await OpsRoom(messages: 30)
            try await room.expectWhole()
            let posted = try room.api.post(["author": "bob", "body": "hi"], to: "ops")
            try room.api.edit(posted["id"].string ?? "", in: "ops", ["body": "hello"])
            let first = try room.api.page("ops", "after=0&limit=1&order=asc")["messages"][0]
            try room.api.delete(first["id"].string ?? "", in: "ops")
            try await room.expectWhole()
            #expect(await room.follower.items.last?.body == "hello")
            #expect(await room.follower.items.first?.isDeleted == true)
            #expect(await room.client.user == "alice")
            #expect(await room.client.upstream == .online)
        }

        @Test func aBrokenConnectionIsResumedWithWhatIsHeld() async throws {
            let room = try await OpsRoom(messages: 50, isCuttable: true)
            try await room.expectWhole()
            for round in 0..<3 {
                try await room.cut()
                try room.write(20)
                let page = try room.api.page("ops", "after=\(round)&limit=1&order=asc")
                let edited = page["messages"][0]
                try room.api.edit(
                    edited["id"].string ?? "", in: "ops", ["body": .string("round \(round)")])
                try room.set(.open)
                try await room.expectWhole()
            }
            #expect(await room.follower.begun == 1)
            #expect(await room.follower.resumed == 3)
        }

        @Test func whatDoesNotFitIsAGapUntilItIsFetched() async throws {
            let room = try await OpsRoom(messages: 10, isCuttable: true)
            try await room.expectWhole()
            try await room.cut()
            try room.write(400)
            try room.set(.open)
            #expect(
                try await eventually { await room.follower.coverage == [[1, 10], [311, 410]] })
            #expect(await room.follower.gaps.map(\.places) == [Coverage.Run(11, 310)])
        }

        @Test func aKilledGatewayIsComeBackTo() async throws {
            let room = try await OpsRoom()
            for round in 1...3 {
                try room.write(20)
                room.gateway.kill()
                try room.gateway.start()
                room.client.wake()
                room.learnAnew()
                try room.write(10)
                try await room.expectWhole()
                #expect(await room.follower.coverage == [[1, 30 * round]])
            }
        }

        @Test func aDrainingGatewayIsComeBackToInItsSlot() async throws {
            let room = try await OpsRoom(settings: ["drain.window": "1s"], messages: 10)
            try await room.expectWhole()
            #expect(try room.gateway.terminate() == 0)
            try room.gateway.start()
            room.client.wake()
            room.learnAnew()
            try room.write(10)
            try await room.expectWhole()
        }

        /// Nothing is refused, and nothing comes: only the silence tells.
        @Test func aSilentNetworkIsNoticed() async throws {
            let room = try await OpsRoom(settings: ["limits.ping_interval": "1s"], isCuttable: true)
            try await room.expectWhole()
            try await room.cut(.stalled)
            try room.write(10)
            try room.set(.open)
            try await room.expectWhole()
        }

        /// 3,000 messages of 2,000 bytes: more than the sockets between the two take.
        private func pour(into room: OpsRoom) throws {
            let body = JSONValue.string(String(repeating: "0123456789", count: 200))
            for _ in 0..<12 {
                let messages = [JSONValue](repeating: ["author": "bob", "body": body], count: 250)
                try room.api.post(messages, to: "ops")
            }
        }

        /// Each place that the client keeps is held or in a gap: nothing was taken for silence.
        /// What is older than the newest 2,000 it may have let go of, if little enough was shed.
        private func expectAccounted(_ room: OpsRoom, _ count: Int) async throws {
            let isAccounted = try await eventually {
                var known = await room.follower.coverage
                for gap in await room.follower.gaps {
                    known.insert(gap.places.low, gap.places.high)
                }
                return known.contains(count - 1_999, count) && known.last == count
            }
            #expect(isAccounted)
        }

        /// A listener that takes nothing: it is told in short later, and the session goes on.
        @Test func aListenerThatTakesNothingIsToldInShort() async throws {
            let room = try await OpsRoom(
                settings: ["limits.ping_interval": "1s", "limits.pong_timeout": "1s"])
            try await room.expectWhole()
            await room.follower.hold(true)
            for _ in 0..<2 { try pour(into: room) }
            // For longer than the gateway waits for an answer to its ping.
            let end = Deadline.after(.seconds(4))
            while !end.isOver {
                let record = try await room.client.fetchConversation("ops")
                #expect(record.id == "ops")
            }
            await room.follower.hold(false)
            try await expectAccounted(room, 6000)
            #expect(await room.follower.interrupted == 0)
            #expect(try room.gateway.health().json["clients"]["connections"] == 1)
        }

        @Test func aRecreatedConversationBeginsAnew() async throws {
            let room = try await OpsRoom(messages: 10, isCuttable: true)
            try await room.expectWhole()
            try await room.cut()
            try room.api.deleteConversation("ops")
            room.learnAnew()
            try room.api.put("ops", ["participants": ["alice", "bob"]])
            try room.write(3)
            try room.set(.open)
            try await room.expectWhole()
            #expect(await room.follower.coverage == [[1, 3]])
            #expect(await room.follower.begun == 2)
        }

        @Test func whoIsRemovedIsTold() async throws {
            let room = try await OpsRoom(messages: 10)
            try await room.expectWhole()
            try room.api.remove("alice", from: "ops")
            #expect(try await eventually { await room.follower.failures.count == 1 })
            #expect(await room.follower.items.isEmpty)
            #expect(await room.follower.failures.first?.mayRetry == false)
        }
    }
}
