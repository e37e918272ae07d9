import TestSupport
import Testing

extension LiveGateway {
    /// Everything at once: messages, edits, deletes, titles, people who leave and come, typing and
    /// read marks; clients that resume, fetch, drop their connections and stop reading until their
    /// events become gaps. All of it is recorded, and judged afterwards, frame by frame.
    @Suite struct RecordedRun {
        static let conversations = ["a", "b", "c"]
        static let users = (0..<12).map { "user-\($0)" }

        @Test func afterEveryFrameWhatEachClientHoldsIsTrue() throws {
            let seed = LiveGateway.seed(3)
            let gateway = try GatewayProcess(settings: ["limits.outbox_soft": "16KiB"])
            let api = gateway.api()
            for id in Self.conversations {
                try api.put(id, ["participants": .array(Self.users.map(JSONValue.string))])
            }
            var random = SplitMix64(seed: seed)
            let swarm = ClientSwarm()
            let wanderers = try Self.users.enumerated().map { place, user in
                // Every third reads slowly.
                let isSlow = place % 3 == 0
                let client = try ChatTestClient(
                    port: gateway.port, receiveBuffer: isSlow ? 4096 : nil)
                swarm.add(client)
                client.records = true
                try client.connect(user: user)
                return Wanderer(client, isSlow: isSlow, seed: random.next())
            }
            var habit = RandomWriter.Habit()
            habit.longestArray = 8
            habit.bodies = 20...4000
            let writers = RandomWriter.start(
                2, port: gateway.port, conversations: Self.conversations, habit: habit, seed: seed)

            try run(wanderers, swarm, api, random: &random)
            let truths = try api.gather(writers, Self.conversations)
            try restore(api)
            for wanderer in wanderers { try wanderer.settle() }
            for id in Self.conversations {
                let truth = try #require(truths[id]).joined(with: api.truth(of: id))
                try expectTrue(wanderers, id, truth, seed)
            }
            #expect(try gateway.health().json["accounting"]["error"] == 0)
        }

        /// Until enough of everything has happened.
        private func run(
            _ wanderers: [Wanderer], _ swarm: ClientSwarm, _ api: ServerAPI,
            random: inout SplitMix64
        ) throws {
            var record = 0
            let isEnough = try swarm.run(.after(.seconds(90 * LiveGateway.scale))) {
                let poured = Self.conversations.reduce(0) { sum, id in
                    sum + (wanderers.map { $0.client.holder(id).head["seq"].int ?? 0 }.max() ?? 0)
                }
                for (place, wanderer) in wanderers.enumerated() {
                    wanderer.poured = poured
                    try wanderer.move()
                    if wanderer.isResting {
                        swarm.paused.insert(place)
                    } else {
                        swarm.paused.remove(place)
                    }
                }
                if random.happens(10) {
                    record += 1
                    try changeRecord(record, wanderers, api, &random)
                }
                let gaps = wanderers.reduce(0) { $0 + $1.slowGaps }
                let moves = wanderers.reduce(0) { $0 + $1.moves }
                return gaps >= 40 * LiveGateway.scale && moves >= 3000 * LiveGateway.scale
            }
            let gaps = wanderers.map(\.slowGaps)
            #expect(isEnough, "gaps \(gaps), moves \(wanderers.map(\.moves))")
        }

        /// All changes of slot 0 are made here, one after the other, so that each of their values
        /// is known.
        private func changeRecord(
            _ number: Int, _ wanderers: [Wanderer], _ api: ServerAPI, _ random: inout SplitMix64
        ) throws {
            guard let id = Self.conversations.randomElement(using: &random),
                let wanderer = wanderers.randomElement(using: &random)
            else { return }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25: try api.put(id, ["title": .string("title \(number)")])
            // Who is out comes back soon: most of them are to be in.
            case 25..<75: try api.add(wanderer.client.user, to: id)
            case 75..<90: try api.remove(wanderer.client.user, from: id)
            default:
                guard try !wanderer.isResting && wanderer.leave(id) else { return }
                // Nothing is given, so nothing changes: it tells what the record is now.
                try api.put(id, [:])
            }
        }

        private func restore(_ api: ServerAPI) throws {
            for id in Self.conversations {
                try api.put(id, ["participants": .array(Self.users.map(JSONValue.string))])
            }
        }

        private func expectTrue(
            _ wanderers: [Wanderer], _ id: String, _ truth: Truth, _ seed: UInt64
        ) throws {
            let log = try #require(truth.log)
            #expect(log.unknownChanges == [], "\(id), seed \(seed)")
            for (place, wanderer) in wanderers.enumerated() {
                let client = wanderer.client
                try client.subscribe(id, limit: 1000)
                // Two of them read all of it, the others what is recent.
                let low = place < 2 ? 1 : max(1, log.headSeq - 100)
                try client.heal(id, from: low, limit: { 100 })
                let isThere = try client.wait { $0.holder(id).asOf == log.headRev }
                #expect(isThere, "\(client.user), \(id), seed \(seed)")
                let held = client.holder(id).messages.filter { $0["seq"].int ?? 0 >= low }
                let isExact = held == Array(log.messages.dropFirst(low - 1))
                #expect(isExact, "\(client.user), \(id), seed \(seed)")
                let faults = Oracle(truth).judge(client.recording, id)
                #expect(faults == [], "\(client.user), \(id), seed \(seed)")
            }
        }
    }
}

extension Truth {
    fileprivate func joined(with other: Truth) throws -> Truth {
        var joined = self
        try joined.learn(other)
        return joined
    }
}
