import TestSupport
import Testing

extension LiveGateway {
    /// Clients that read too slowly or not at all, and some that do nothing else either: each of
    /// them meets a limit, and nobody else notices.
    @Suite struct SlowReaders {
        static let stalledCount = 10
        /// 700 messages of 30,000 bytes: 20 MB for each reader.
        static let messageCount = 700
        static let body = JSONValue.string(String(repeating: "0123456789", count: 3000))

        @Test func whoNeverReadsCostsALittleAndIsMadeWholeFromItsGaps() throws {
            let gateway = try GatewayProcess(settings: [
                // On a busy machine it takes longer than a client may be silent.
                "limits.pong_timeout": "10m",
                // Some have their sockets on the loop of the engine, some on the other.
                "fanout.loops": "2",
            ])
            let api = gateway.api()
            let names = (0..<Self.stalledCount).map { "stalled-\($0)" }
            let people = ["writer", "reader-0", "reader-1", "reader-2"] + names
            try api.put("ops", ["participants": .array(people.map(JSONValue.string))])
            let stalled = try names.map { name in
                let client = try ChatTestClient(port: gateway.port, receiveBuffer: 4096)
                client.records = true
                try client.connect(user: name)
                try client.subscribe("ops")
                return client
            }
            let readers = try ClientSwarm(count: 3, port: gateway.port) { "reader-\($0)" }
            try readers.request("subscribeMessages") { $0.subscription("ops") }
            let before = try gateway.figures().residentBytes
            var most = before
            try pour(gateway, readers) { most = max(most, try gateway.figures().residentBytes) }

            for reader in readers.clients {
                #expect(reader.holder("ops").runs == Intervals([1...Self.messageCount]))
                #expect(reader.holder("ops").asOf == Self.messageCount + 1)
            }
            // Queued for each of them it would be 200 MB. What each may cost is the soft limit and
            // one frame, 3 MB together; the rest is left to SQLite and the allocator.
            let isBounded = most - before < 48 << 20
            #expect(isBounded || LiveGateway.isSanitized, "\((most - before) >> 20) MiB more")
            let health = try gateway.health().json
            #expect(health["clients"]["connections"] == 13 && health["accounting"]["error"] == 0)

            let truth = try api.learnChanges(of: "ops")
            for (place, client) in stalled.enumerated() {
                try expectExact(client, truth, heals: place < 2)
            }
        }

        /// Writes all messages while the readers read.
        private func pour(
            _ gateway: GatewayProcess, _ readers: ClientSwarm, look: () throws -> Void
        ) throws {
            let writer = Background<Void> { [port = gateway.port] stop in
                let api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey)
                for _ in 0..<Self.messageCount where !stop.isOver {
                    try api.post(["author": "writer", "body": Self.body], to: "ops")
                }
            }
            var turn = 0
            let isWhole = try readers.run(.after(.seconds(120))) {
                turn += 1
                if turn % 50 == 0 { try look() }
                return readers.clients.allSatisfy {
                    $0.holder("ops").held.count == Self.messageCount
                }
            }
            try writer.join()
            try look()
            #expect(isWhole, "the others did not get all of it")
        }

        /// What waits for the client is few frames with a gap in it, and what it then fetches is
        /// what it missed.
        private func expectExact(
            _ client: ChatTestClient, _ truth: Truth, heals: Bool
        ) throws {
            let isThere = try client.wait { $0.holder("ops").asOf == truth.log?.headRev }
            #expect(isThere && client.connection.closeCode == nil)
            let gaps = client.events.flatMap { $0["gaps"].array ?? [] }
            #expect(gaps.contains { $0["cause"] == "slow" })
            #expect(Oracle(truth).judge(client.recording, "ops") == [])
            // Each place is held or in a gap.
            var known = client.holder("ops").runs
            for gap in gaps {
                known.insert((gap["after"].int ?? 0) + 1...max(1, (gap["before"].int ?? 0) - 1))
            }
            #expect(known.ranges == [1...Self.messageCount])
            guard heals else { return }
            try client.heal("ops")
            let isExact = client.holder("ops").messages == truth.log?.messages
            #expect(isExact)
            #expect(Oracle(truth).check(client.holder("ops")) == [])
        }

        /// All is asked at once, in what the gateway reads in one piece, and the answers are more
        /// than any kernel keeps for a socket and the hard limit together. It is answered as far as
        /// it reads, nothing is closed, and when it reads it has all of them, in order.
        @Test func whoAsksForMuchAtOnceAndDoesNotReadWaitsForItsAnswers() throws {
            let gateway = try GatewayProcess(settings: [
                "limits.reply": "1900KiB", "limits.outbox_hard": "2MiB",
            ])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice"]])
            for _ in 0..<60 { try api.post(["author": "alice", "body": Self.body], to: "ops") }
            let client = try ChatTestClient(port: gateway.port, receiveBuffer: 4096)
            try client.connect(user: "alice")
            // 1.8 MB each.
            try client.send("fetchMessages", ["conversation": "ops"], times: 14)
            let isAsked = try Deadline.standard.poll { try Self.waitingBytes(gateway) > 0 }
            #expect(isAsked)
            let other = try gateway.client("alice")
            for _ in 0..<20 {
                try other.request("fetchMessages", ["conversation": "ops", "limit": 1])
                // The soft limit, which one answer may pass.
                #expect(try Self.waitingBytes(gateway) < 262_144 + 2_000_000)
            }
            #expect(try gateway.health().json["clients"]["connections"] == 2)
            for id in 2...15 {
                #expect(try client.result(of: id)["messages"].array?.count == 60)
            }
        }

        /// What the gateway holds for all sockets together.
        private static func waitingBytes(_ gateway: GatewayProcess) throws -> Int {
            let metrics = try gateway.health("/metrics").text.split(separator: "\n")
            let line = metrics.first { $0.hasPrefix("gapless_outbox_bytes ") }
            return try #require(line.flatMap { Int($0.split(separator: " ")[1]) })
        }

        /// What it asks for stays with it as long as it does not read: no more than one answer ever
        /// waits here, and nothing is closed.
        @Test func whoAsksInTurnAndNeverReadsIsNotReadEither() throws {
            let gateway = try GatewayProcess(settings: ["limits.outbox_hard": "2MiB"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice"]])
            for _ in 0..<20 { try api.post(["author": "alice", "body": Self.body], to: "ops") }
            let client = try ChatTestClient(port: gateway.port, receiveBuffer: 4096)
            try client.connect(user: "alice")
            let other = try gateway.client("alice")
            // 600 kB each; another client's answers show that the gateway has had its turns.
            for _ in 0..<40 {
                try client.send("fetchMessages", ["conversation": "ops"])
                try other.request("fetchMessages", ["conversation": "ops", "limit": 1])
                #expect(try Self.waitingBytes(gateway) < 700_000)
            }
            #expect(try gateway.health().json["clients"]["connections"] == 2)
            // It reads, and has its first answer.
            #expect(try client.result(of: 2)["messages"].array?.count == 20)
        }

        @Test func whoSaysNothingIsClosed() throws {
            let gateway = try GatewayProcess(settings: ["limits.connect_timeout": "500ms"])
            let silent = try WebSocketConnection(port: gateway.port)
            let speaking = try gateway.client("alice")
            #expect(try silent.waitForClose() == 3501)
            try speaking.request("fetchConversations", ["cached": false])
            #expect(!speaking.connection.hasEnded)
        }

        /// A byte a second keeps no handshake open.
        @Test func whoTakesForeverToSayHelloIsDropped() throws {
            let gateway = try GatewayProcess()
            let socket = try TCPSocket(port: gateway.port)
            let head =
                "GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
                + String(repeating: "z", count: 60)
            var sent = 0
            for byte in head.utf8 where !socket.isAtEnd {
                try? socket.write([byte])
                sent += 1
                if socket.waitToRead(.after(.seconds(1))) { _ = socket.readAvailable() }
            }
            #expect(socket.isAtEnd, "\(sent) bytes were taken, one a second")
            #expect(try gateway.health("/health/live").status == 200)
        }
    }
}
