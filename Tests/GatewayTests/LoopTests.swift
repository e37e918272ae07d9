import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// Several threads that serve sockets: nobody can tell on which of them it is.
    @Suite struct Loops {
        private static let loops = ["fanout.loops": "3"]
        private static let users = (0..<30).map { "reader-\($0)" }

        /// While writers write, a third of the readers is torn off in the middle, on all loops.
        @Test func everyFrameComesOnceAndInOrder() throws {
            let seed = LiveGateway.seed(31)
            let gateway = try GatewayProcess(settings: Self.loops)
            let api = gateway.api()
            try api.put("ops", ["participants": .array(Self.users.map(JSONValue.string))])
            let swarm = try ClientSwarm(count: Self.users.count, port: gateway.port) {
                Self.users[$0]
            }
            for client in swarm.clients { client.records = true }
            try swarm.request("subscribeMessages") { $0.subscription("ops") }
            let writers = RandomWriter.start(
                2, port: gateway.port, conversations: ["ops"], seed: seed, calls: 200)
            #expect(try swarm.run { swarm.clients[0].holder("ops").runs.contains(50) })
            let (gone, rest) = (swarm.clients[..<10], swarm.clients[10...])
            for client in gone { client.disconnect() }
            swarm.paused = Set(gone.indices)
            let told = try writers.map { try $0.join() }
            let newest = try #require(api.learnChanges(of: "ops").log?.headRev)
            let truth = try api.truth(of: "ops", toldTo: told)
            #expect(try swarm.run { rest.allSatisfy { $0.holder("ops").asOf == newest } })
            for client in rest {
                #expect(Oracle(truth).judge(client.recording, "ops") == [], "seed \(seed)")
            }
            try expectBalanced(gateway, connections: rest.count)
        }

        private func expectBalanced(_ gateway: GatewayProcess, connections: Int) throws {
            let isSettled = try Deadline.standard.poll {
                try gateway.health().json["clients"]["connections"].int == connections
            }
            #expect(isSettled)
            let health = try gateway.health().json
            #expect(health["accounting"]["error"] == 0)
            #expect(try gateway.metrics()["gapless_outbox_bytes"] == 0)
        }

        @Test func theConnectionLimitIsOneForAll() throws {
            var settings = Self.loops
            settings["limits.connections"] = "7"
            let gateway = try GatewayProcess(settings: settings)
            let clients = try (0..<7).map { try gateway.client("user-\($0)") }
            for _ in 0..<4 {
                let late = try WebSocketConnection(port: gateway.port)
                #expect(try late.waitForClose() == 3004)
            }
            for client in clients { try client.request("unsubscribeConversations") }
            clients[3].disconnect()
            let isFree = try Deadline.standard.poll {
                try gateway.health().json["clients"]["connections"] == 6
            }
            #expect(isFree)
            try gateway.client("late").request("unsubscribeConversations")
        }

        @Test func theServerAPIAnswersOnEachLoop() throws {
            let gateway = try GatewayProcess(settings: Self.loops)
            let key = ["Authorization": "Bearer \(GatewayProcess.apiKey)"]
            // Larger than what is let in without a key.
            let message: JSONValue = ["author": "ann", "body": "text"]
            let large = message.bytes + Array(repeating: 0x20, count: 4 << 20)
            // Kept, so that each loop has some of them.
            let connections = (0..<6).map { _ in HTTPConnection(port: gateway.port) }
            for (place, connection) in connections.enumerated() {
                let path = "/v1/conversations/c\(place)"
                let put = try connection.send(
                    "PUT", path, headers: key, json: ["participants": ["ann"]])
                #expect(put.status == 201 || put.status == 200)
                let post = try connection.send(
                    "POST", "\(path)/messages", headers: key, body: large)
                #expect(post.status == 201 || post.status == 200)
                #expect(try connection.send("GET", path).status == 401)
            }
            for (place, connection) in connections.enumerated() {
                let path = "/v1/conversations/c\(place)/messages?limit=1"
                let page = try connection.send("GET", path, headers: key)
                #expect(page.json["messages"].array?.first?["seq"] == 1)
            }
        }

        @Test func aDrainSendsEverybodyAway() throws {
            var settings = Self.loops
            settings["drain.window"] = "30s"
            let gateway = try GatewayProcess(settings: settings)
            let swarm = try ClientSwarm(count: 12, port: gateway.port) { "user-\($0)" }
            var slots: Set<Int> = []
            for client in swarm.clients {
                client.onFrame = { frame in
                    guard frame["event"] == "goaway" else { return }
                    slots.insert(try #require(frame["reconnectIn"].int))
                }
            }
            gateway.signal(SIGTERM)
            // The first of those who are connected leave at once, and others may come in turn.
            #expect(try swarm.run { slots.count == 12 })
            for _ in 0..<6 {
                #expect { try WebSocketConnection(port: gateway.port) } throws: { error in
                    (error as? WebSocketConnection.UpgradeRefused)?.status == 503
                }
            }
            #expect(try swarm.run { swarm.clients.allSatisfy(\.connection.hasEnded) })
            #expect(swarm.clients.allSatisfy { $0.connection.closeCode == 3000 })
            #expect(try gateway.waitForExit() == 0)
        }

        /// What it asked for is answered in full and in order, though it asks for more than it may
        /// and all at once.
        @Test func whoAsksTooMuchIsHeardInTurn() throws {
            var settings = Self.loops
            settings["limits.requests_per_second"] = "5"
            let gateway = try GatewayProcess(settings: settings)
            let clients = try (0..<3).map { try gateway.client("user-\($0)") }
            for client in clients {
                for _ in 0..<2 { try client.send("unsubscribeConversations", [:], times: 1000) }
            }
            for client in clients {
                var limited = 0
                for id in 2...2001 {
                    do {
                        _ = try client.result(of: id, .after(.seconds(60)))
                    } catch let error as ChatTestClient.RequestFailed {
                        #expect(error.code == "rate_limited")
                        limited += 1
                    }
                }
                #expect(limited > 1000)
            }
            #expect(try gateway.health().json["accounting"]["error"] == 0)
        }
    }
}
