import TestSupport
import Testing

extension Faults {
    /// `kill -9` of an embedded origin at random moments under writers, over WebSocket and by the
    /// server API: what was acknowledged is there after each start on the same file, once and in
    /// order, and what was not is there once or not at all.
    @Suite struct KilledOrigins {
        static let kills = Faults.isLong ? 10 * Faults.scale : 10
        /// So many kills see the same log: each of them has all of it read.
        static let killsPerLog = 10
        static let writerCount = 6

        private let gateway: GatewayProcess
        private let api: ServerAPI

        init() throws {
            gateway = try GatewayProcess(settings: [
                "log.level": "warning", "page.enabled": "false", "limits.requests_per_second": "0",
            ])
            api = gateway.api()
        }

        /// What one log came to.
        private struct Outcome {
            var conversation: String
            var writers: [RememberingWriter]
            /// Kills of a gateway that had only begun to start.
            var early = 0
            /// Calls that were under way at a kill, and are in the log.
            var unanswered = 0

            func faults(in messages: [JSONValue]) -> [String] {
                writers.flatMap { $0.faults(in: messages) }
            }
        }

        @Test func whatWasAcknowledgedIsThereOnceAndInOrder() throws {
            let seed = Faults.seed(700)
            var random = SplitMix64(seed: seed)
            var outcomes: [Outcome] = []
            for first in stride(from: 0, to: Self.kills, by: Self.killsPerLog) {
                let kills = min(Self.killsPerLog, Self.kills - first)
                outcomes.append(try fillLog("ops-\(first)", kills, "seed \(seed)", &random))
            }
            // The later lives took nothing from the logs of the earlier ones.
            for outcome in outcomes {
                #expect(outcome.faults(in: try log(outcome.conversation)) == [], "seed \(seed)")
            }
            let told = outcomes.flatMap(\.writers)
            #expect(told.allSatisfy { $0.told.count > 10 }, "seed \(seed)")
            Faults.report(
                "kill -9 of an embedded origin | times \(Self.kills), and while it started"
                    + " \(outcomes.reduce(0) { $0 + $1.early }) | writers \(Self.writerCount)"
                    + " | calls acknowledged \(told.reduce(0) { $0 + $1.counts.acknowledged })"
                    + " | messages \(told.reduce(0) { $0 + $1.told.count })"
                    + " | unanswered and there \(outcomes.reduce(0) { $0 + $1.unanswered })")
        }

        /// One conversation through so many kills.
        private func fillLog(
            _ conversation: String, _ kills: Int, _ place: String, _ random: inout SplitMix64
        ) throws -> Outcome {
            let names = (0..<Self.writerCount).map { "writer-\($0)" }
            try api.put(
                conversation, ["participants": .array((["alice"] + names).map(JSONValue.string))])
            var outcome = Outcome(
                conversation: conversation,
                writers: names.enumerated().map { index, name in
                    RememberingWriter(
                        name, in: conversation, by: index % 2 == 0 ? .webSocket : .serverAPI,
                        pause: 2000)
                })
            let watcher = try gateway.client("alice")
            for round in 0..<kills {
                let place = "\(conversation), kill \(round), \(place)"
                if round > 0 { try watcher.reconnect() }
                // What it was told was on the disk before.
                let answer = try watcher.subscribe(conversation, limit: 1000)
                #expect(answer["reset"].bool != true, "\(place)")
                try watcher.heal(conversation)
                outcome.writers = try live(outcome.writers, watcher, round, &random)
                watcher.disconnect()
                outcome.early += try startAgain(&random)
                let messages = try log(conversation)
                #expect(outcome.faults(in: messages) == [], "\(place)")
                outcome.unanswered += outcome.writers.filter { $0.isUnderWayThere(messages) }.count
            }
            // Who watched all along sees the same as who comes new.
            try watcher.reconnect()
            try watcher.subscribe(conversation, limit: 1000)
            try watcher.heal(conversation)
            let isSame = try watcher.holder(conversation).messages == log(conversation)
            #expect(isSame, "\(conversation), \(place)")
            return outcome
        }

        private func log(_ conversation: String) throws -> [JSONValue] {
            try gateway.client("alice").walkBack(conversation) { 1000 }
        }

        /// One life of the gateway. Every other one is ended by a writer right behind an
        /// acknowledgement: what came too early is not in the file yet.
        private func live(
            _ writers: [RememberingWriter], _ watcher: ChatTestClient, _ round: Int,
            _ random: inout SplitMix64
        ) throws -> [RememberingWriter] {
            let process = try #require(gateway.processID)
            let running = writers.enumerated().map { index, writer in
                var writer = writer
                writer.execution = nil
                if round % 2 == 1, round / 2 % writers.count == index {
                    writer.execution = (process, Int.random(in: 1...60, using: &random))
                }
                return writer.start(port: gateway.port, seed: random.next())
            }
            if round % 2 == 0 {
                let end = Deadline.after(.milliseconds(Int.random(in: 5...600, using: &random)))
                _ = try watcher.wait(end) { _ in false }
                gateway.kill()
            }
            let isKilled = try watcher.wait { $0.connection.hasEnded }
            gateway.kill()
            let ended = try running.map { try $0.join() }
            #expect(isKilled, "not killed by its writer: \(ended.map(\.lostGateway))")
            return ended
        }

        /// Starts it on what it left. Some starts are cut short, in the middle of what a crash
        /// leaves to be done.
        /// - Returns: How many were.
        private func startAgain(_ random: inout SplitMix64) throws -> Int {
            var early = 0
            while random.happens(30) {
                try gateway.start(waits: false)
                // Any moment of the start.
                let end = Deadline.after(.microseconds(Int.random(in: 0...60_000, using: &random)))
                _ = end.poll { false }
                gateway.kill()
                early += 1
            }
            try gateway.start()
            return early
        }
    }
}
