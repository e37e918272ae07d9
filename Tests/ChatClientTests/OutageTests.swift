import ChatClient
import Foundation
import TestSupport
import Testing

extension LiveClient {
    /// Whatever happens to the connection or the gateway, a client ends with what the log has, and
    /// knows on the way what it does not have.
    @Suite struct Outages {
        /// The same, message for message, as the log has it.
        private func expectWhole(
            _ follower: Follower, _ api: ServerAPI, _ conversation: String
        ) async throws {
            let truth = try #require(try api.learnChanges(of: conversation).log)
            let isWhole = try await eventually {
                let (isLive, revs) = (await follower.isLive, await follower.revs)
                return isLive && revs == truth.newest
            }
            let coverage = await follower.coverage
            #expect(isWhole, "held \(coverage) of \(truth.headSeq)")
            #expect(await follower.gaps.isEmpty)
        }

        private func write(_ count: Int, _ api: ServerAPI, _ conversation: String) throws {
            let texts = (0..<count).map { place -> JSONValue in
                ["author": "bob", "body": .string("text \(place)")]
            }
            try api.post(texts, to: conversation)
        }

        @Test func messagesEditsAndDeletionsArrive() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try write(30, api, "ops")
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            let posted = try api.post(["author": "bob", "body": "hi"], to: "ops")
            try api.edit(posted["id"].string ?? "", in: "ops", ["body": "hello"])
            let first = try api.page("ops", "after=0&limit=1&order=asc")["messages"][0]
            try api.delete(first["id"].string ?? "", in: "ops")
            try await expectWhole(follower, api, "ops")
            #expect(await follower.items.last?.body == "hello")
            #expect(await follower.items.first?.isDeleted == true)
            #expect(await client.user == "alice")
            #expect(await client.upstream == .online)
        }

        @Test func aBrokenConnectionIsResumedWithWhatIsHeld() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try write(50, api, "ops")
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            for round in 0..<3 {
                proxy.set(.refusing)
                #expect(try await eventually { await follower.interrupted == round + 1 })
                try write(20, api, "ops")
                let edited = try api.page("ops", "after=\(round)&limit=1&order=asc")["messages"][0]
                try api.edit(
                    edited["id"].string ?? "", in: "ops", ["body": .string("round \(round)")])
                proxy.set(.open)
                client.wake()
                try await expectWhole(follower, api, "ops")
            }
            #expect(await follower.begun == 1)
            #expect(await follower.resumed == 3)
        }

        @Test func whatDoesNotFitIsAGapUntilItIsFetched() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try write(10, api, "ops")
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            proxy.set(.refusing)
            #expect(try await eventually { await follower.interrupted == 1 })
            try write(400, api, "ops")
            proxy.set(.open)
            client.wake()
            #expect(try await eventually { await follower.coverage == [[1, 10], [311, 410]] })
            #expect(await follower.gaps.map(\.places) == [Coverage.Run(11, 310)])
        }

        @Test func aKilledGatewayIsComeBackTo() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            for round in 1...3 {
                try write(20, gateway.api(), "ops")
                gateway.kill()
                try gateway.start()
                client.wake()
                let api = gateway.api()
                try write(10, api, "ops")
                try await expectWhole(follower, api, "ops")
                #expect(await follower.coverage == [[1, 30 * round]])
            }
        }

        @Test func aDrainingGatewayIsComeBackToInItsSlot() async throws {
            let gateway = try GatewayProcess(settings: ["drain.window": "1s"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try write(10, api, "ops")
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            #expect(try gateway.terminate() == 0)
            try gateway.start()
            client.wake()
            let again = gateway.api()
            try write(10, again, "ops")
            try await expectWhole(follower, again, "ops")
        }

        /// Nothing is refused, and nothing comes: only the silence tells.
        @Test func aSilentNetworkIsNoticed() async throws {
            let gateway = try GatewayProcess(settings: ["limits.ping_interval": "1s"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            proxy.set(.stalled)
            #expect(try await eventually { await follower.interrupted == 1 })
            try write(10, api, "ops")
            proxy.set(.open)
            client.wake()
            try await expectWhole(follower, api, "ops")
        }

        /// 3,000 messages of 2,000 bytes: more than the sockets between the two take.
        private func pour(_ api: ServerAPI) throws {
            let body = JSONValue.string(String(repeating: "0123456789", count: 200))
            for _ in 0..<12 {
                let messages = [JSONValue](repeating: ["author": "bob", "body": body], count: 250)
                try api.post(messages, to: "ops")
            }
        }

        /// Each place that the client keeps is held or in a gap: nothing was taken for silence.
        /// What is older than the newest 2,000 it may have let go of, if little enough was shed.
        private func expectAccounted(_ follower: Follower, _ count: Int) async throws {
            let isAccounted = try await eventually {
                var known = await follower.coverage
                for gap in await follower.gaps {
                    if let places = gap.places { known.insert(places.low, places.high) }
                }
                return known.contains(count - 1_999, count) && known.last == count
            }
            #expect(isAccounted)
        }

        /// A listener that takes nothing: the client stops reading, the gateway sheds, and what was
        /// shed is a gap.
        @Test func aListenerThatTakesNothingIsToldWhatItMissed() async throws {
            let gateway = try GatewayProcess(settings: ["limits.pong_timeout": "300s"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            await follower.hold(true)
            try pour(api)
            await follower.hold(false)
            #expect(try await eventually { await follower.slowGaps > 0 })
            #expect(await follower.interrupted == 0)
            try await expectAccounted(follower, 3000)
        }

        /// The same for so long that the gateway gives the client up.
        @Test func aListenerThatTakesNothingForTooLongComesBack() async throws {
            let gateway = try GatewayProcess(
                settings: ["limits.ping_interval": "1s", "limits.pong_timeout": "1s"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            await follower.hold(true)
            try pour(api)
            let isGivenUp = try await eventually {
                try gateway.health().json["clients"]["connections"] == 0
            }
            #expect(isGivenUp)
            await follower.hold(false)
            #expect(
                try await eventually {
                    client.wake()
                    return await follower.resumed == 1
                })
            try await expectAccounted(follower, 3000)
        }

        @Test func aRecreatedConversationBeginsAnew() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try write(10, api, "ops")
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            proxy.set(.refusing)
            #expect(try await eventually { await follower.interrupted == 1 })
            try api.deleteConversation("ops")
            let fresh = gateway.api()
            try fresh.put("ops", ["participants": ["alice", "bob"]])
            try write(3, fresh, "ops")
            proxy.set(.open)
            client.wake()
            try await expectWhole(follower, fresh, "ops")
            #expect(await follower.coverage == [[1, 3]])
            #expect(await follower.begun == 2)
        }

        @Test func whoIsRemovedIsTold() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try write(10, api, "ops")
            let client = try client(gateway, "alice")
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            try await expectWhole(follower, api, "ops")
            try api.remove("alice", from: "ops")
            #expect(try await eventually { await follower.failures.count == 1 })
            #expect(await follower.items.isEmpty)
            #expect(await follower.failures.first?.mayRetry == false)
        }
    }
}
