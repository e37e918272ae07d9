import Glibc
import TestSupport
import Testing

extension Faults {
    /// P5: `kill -9` of a gateway at random moments under load. What its file says that it holds it
    /// holds, and it answers truthfully at once when it is started again.
    @Suite struct KilledGateways {
        static let rounds = Faults.isLong ? 5 * Faults.scale : 8
        static let conversations = ["c0", "c1", "c2"]
        static let users = (0..<6).map { "watcher-\($0)" }

        private let redis: RedisProcess
        private let gateway: GatewayProcess
        private let far: GatewayProcess
        private let api: ServerAPI

        init() throws {
            redis = try RedisProcess()
            let settings = Faults.settings.merging(["upstream.redis.url": redis.url]) { $1 }
            gateway = try GatewayProcess(settings: settings)
            far = try GatewayProcess(settings: settings)
            api = far.api()
        }

        @Test func afterEachStartTheFileClaimsNothingThatItDoesNotHold() throws {
            let seed = Faults.seed(300)
            var random = SplitMix64(seed: seed)
            let people = Self.users.map(JSONValue.string)
            for id in Self.conversations { try api.put(id, ["participants": .array(people)]) }
            var truths: [String: Truth] = [:]
            var holders: [String: [String: Holder]] = [:]
            var slowest = Duration.zero
            var claimed = 0
            for round in 0..<Self.rounds {
                let place: Comment = "round \(round), seed \(seed)"
                let (watchers, told) = try live(round, holders, &random)
                for told in told {
                    for (id, truth) in told { try truths[id, default: Truth()].learn(truth) }
                }
                for id in Self.conversations {
                    try truths[id]?.learn(try api.learnChanges(of: id))
                    #expect(truths[id]?.log?.unknownChanges == [], "\(place)")
                }
                let findings = try CacheFile(of: gateway).check(truths)
                claimed += findings.claimed
                #expect(findings.faults.prefix(5) == [], "\(place)")
                let faults = watchers.flatMap { $0.judgeOnTheWay(truths) }
                #expect(faults.isEmpty, "\(place): \(faults.prefix(5))")
                for watcher in watchers {
                    holders[watcher.client.user] = Dictionary(
                        uniqueKeysWithValues: watcher.conversations.map {
                            ($0, watcher.client.holder($0))
                        })
                }
                // The cache of some starts keeps little: trimming, too, is cut short.
                gateway.settings["cache.retain_messages"] = round % 3 == 2 ? "30" : "0"
                slowest = max(slowest, try start())
            }
            try expectWhole(truths, holders)
            Faults.report(
                "kill -9 of a gateway | times \(Self.rounds) | claims looked up \(claimed)"
                    + " | listening after \(slowest.text) s at most")
        }

        /// One life of the gateway.
        private func live(
            _ round: Int, _ holders: [String: [String: Holder]], _ random: inout SplitMix64
        ) throws -> (watchers: [Watcher], told: [[String: Truth]]) {
            let lines = try ChatLog.days()[0].lines.filter { !$0.text.isEmpty }
            let writers = (0..<2).map { place in
                var habit = LineWriter.Habit()
                habit.admits = place == 0
                return LineWriter.start(
                    "writer-\(round)-\(place)", port: far.port, lines: lines,
                    conversations: Self.conversations, ledger: Ledger(), seed: random.next(),
                    habit: habit)
            }
            let swarm = ClientSwarm()
            var watchers: [Watcher] = []
            for user in Self.users where random.happens(80) {
                let held = random.happens(80) ? holders[user] ?? [:] : [:]
                let watcher = try Watcher(gateway, user, Self.conversations, before: held)
                swarm.add(watcher.client)
                watchers.append(watcher)
                try watcher.subscribe(limit: Int.random(in: 5...200, using: &random))
            }
            let end = Deadline.after(.milliseconds(Int.random(in: 20...900, using: &random)))
            while !end.isOver {
                try swarm.turn(milliseconds: 10)
                guard random.happens(30), let watcher = watchers.randomElement(using: &random)
                else { continue }
                try read(watcher.client, &random)
            }
            gateway.kill()
            for writer in writers { writer.end() }
            for watcher in watchers { watcher.client.disconnect() }
            return (watchers, try writers.map { try $0.join() })
        }

        /// A page anywhere.
        private func read(_ client: ChatTestClient, _ random: inout SplitMix64) throws {
            guard let id = Self.conversations.randomElement(using: &random),
                let top = client.holder(id).head["seq"].int, top > 0
            else { return }
            try client.send(
                "fetchMessages",
                [
                    "conversation": .string(id),
                    "before": .int(Int.random(in: 1...(top + 1), using: &random)),
                    "limit": .int(Int.random(in: 1...30, using: &random)),
                ])
        }

        /// - Returns: How long it took until somebody could connect.
        private func start() throws -> Duration {
            let began = ContinuousClock.now
            try gateway.start(waits: false)
            let isUp = Deadline.standard.poll { (try? TCPSocket(port: gateway.port)) != nil }
            let took = ContinuousClock.now - began
            #expect(isUp && gateway.isRunning, "\(gateway.log.suffix(500))")
            return took
        }

        /// After the last start everybody comes to the end of the logs, with what they hold.
        private func expectWhole(
            _ truths: [String: Truth], _ holders: [String: [String: Holder]]
        ) throws {
            for user in Self.users {
                let watcher = try Watcher(
                    gateway, user, Self.conversations, before: holders[user] ?? [:])
                try watcher.subscribe()
                let heads = truths.mapValues { $0.log?.headRev ?? 0 }
                #expect(try watcher.client.wait { _ in watcher.isWhole(heads) }, "\(user)")
                for id in Self.conversations { try watcher.client.heal(id) }
                #expect(watcher.judge(truths) == [])
            }
        }

        @Test func itStartsInUnderASecondWithManyMessages() throws {
            let thousands = Faults.isLong ? 100 : 10
            try api.put("big", ["participants": ["watcher"]])
            let watcher = try Watcher(gateway, "watcher", ["big"])
            watcher.client.records = false
            try watcher.subscribe()
            #expect(try watcher.client.wait { _ in watcher.isSubscribed })
            for thousand in 0..<thousands {
                try api.post(
                    (0..<1000).map {
                        ["author": "writer", "body": .string("line \(thousand) \($0)")]
                    }, to: "big")
                try watcher.client.pump()
            }
            let isCached = try Deadline.after(.seconds(60)).poll {
                try watcher.client.pump()
                return try gateway.health().json["cache"]["messages"].int ?? 0 >= thousands * 1000
            }
            #expect(isCached)
            gateway.kill()
            let took = try start()
            #expect(took < .seconds(1))
            Faults.report(
                "start | messages cached \(thousands)000 | listening after \(took.text) s")
        }
    }
}
