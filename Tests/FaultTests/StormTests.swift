import TestSupport
import Testing

extension Faults {
    /// P2: what an outage costs the origin follows from what was missed, not from how many clients
    /// watch, though half of them come back with what they hold at the moment the link does.
    @Suite struct Storms {
        static let conversationCount = 50
        static let page = 100
        static let sizes = Faults.isLong ? [2000, 10_000] : [400]

        private let redis: RedisProcess
        private let proxy: TCPProxy
        private let gateway: GatewayProcess
        private let far: GatewayProcess
        private let api: ServerAPI
        private let ids = (0..<Self.conversationCount).map { "c\($0)" }

        init() throws {
            redis = try RedisProcess()
            proxy = try TCPProxy(to: redis.port)
            gateway = try GatewayProcess(
                settings: Faults.settings.merging([
                    "upstream.redis.url": "redis://127.0.0.1:\(proxy.port)/0",
                    "sync.page": "\(Self.page)",
                ]) { $1 })
            far = try GatewayProcess(
                settings: Faults.settings.merging(["upstream.redis.url": redis.url]) { $1 })
            api = far.api()
        }

        @Test(arguments: sizes)
        func fetchesFollowWhatWasMissedAndNotTheNumberOfClients(_ clientCount: Int) throws {
            defer { proxy.close() }
            let inserted = 130
            let edited = 20
            for id in ids { try api.put(id, ["participants": ["watcher"]]) }
            for id in ids { try api.post(lines(50, "\(id)-old"), to: id) }
            let swarm = try ClientSwarm(count: clientCount, port: gateway.port) { _ in "watcher" }
            try subscribe(swarm, Array(swarm.clients.indices))
            let monitor = try RedisMonitor(redis)
            let reads = try readingScripts(monitor)
            let before = try gateway.fetches()

            proxy.set(.stalled)
            let isNoticed = try swarm.run(.after(Faults.deadline + Faults.margin)) {
                try gateway.health("/health/ready").status == 503
            }
            #expect(isNoticed)
            for id in ids {
                try api.post(lines(inserted, "\(id)-new"), to: id)
                for place in 1...edited {
                    try api.edit("\(id)-old-\(place)", in: id, ["body": "edited"])
                }
            }
            let leaving = swarm.clients.indices.filter { $0 / ids.count % 2 == 0 }
            for place in leaving { swarm.clients[place].disconnect() }
            proxy.set(.open)
            let began = ContinuousClock.now
            for place in leaving { try swarm.clients[place].reconnect() }
            try subscribe(swarm, leaving)
            let areWhole = try swarm.run(.after(.seconds(120))) {
                swarm.clients.indices.allSatisfy { isWhole(swarm.clients[$0], $0, 50 + inserted) }
            }
            #expect(areWhole, "\(clientCount) clients are not whole in time")
            let took = ContinuousClock.now - began

            let after = try gateway.fetches()
            let counts = after.mapValues { $0 }.merging(before) { $0 - $1 }
            let slots = inserted + edited
            let allowed = 2 + (slots + Self.page - 1) / Self.page
            let runs = try monitor.takeRuns().filter { reads.contains($0.digest) }
            let used = Dictionary(grouping: runs, by: \.key).mapValues(\.count)
            #expect(used.count == ids.count && used.values.allSatisfy { $0 <= allowed }, "\(used)")
            #expect(runs.count == (counts["range"] ?? 0) + (counts["changes"] ?? 0), "\(counts)")
            try judge(swarm)
            Faults.report(
                "storm | clients \(clientCount) | conversations \(ids.count) | changed slots each"
                    + " \(slots) | range+changes of one at most"
                    + " \(used.values.max() ?? 0) of \(allowed) allowed, of all \(runs.count)"
                    + " | heads \(counts["heads"] ?? 0)"
                    + " | conversation \(counts["conversation"] ?? 0) | whole in \(took.text) s")
        }

        /// The scripts that read a range and the changes since, found by asking for both once.
        private func readingScripts(_ monitor: RedisMonitor) throws -> Set<String> {
            try api.put("asked", [:])
            _ = try monitor.takeRuns()
            let reader = gateway.api()
            let digests = try ["messages?limit=1", "changes?since=0&limit=1"].map { question in
                try reader.call("GET", "/v1/conversations/asked/\(question)")
                let runs = try monitor.takeRuns().filter { $0.key.contains("{asked}") }
                guard runs.count == 1 else { throw TestFailure("\(question): \(runs)") }
                return runs[0].digest
            }
            return Set(digests)
        }

        private func lines(_ count: Int, _ name: String) -> [JSONValue] {
            (1...count).map {
                ["id": .string("\(name)-\($0)"), "author": "writer", "body": .string("\($0)")]
            }
        }

        private func conversation(_ place: Int) -> String { ids[place % ids.count] }

        private func subscribe(_ swarm: ClientSwarm, _ places: [Int]) throws {
            let asked = try places.map { place in
                let client = swarm.clients[place]
                let params = client.subscription(conversation(place), limit: 1000)
                return (client, try client.send("subscribeMessages", params))
            }
            var open = asked[...]
            let isAnswered = try swarm.run(.after(.seconds(120))) {
                while let (client, id) = open.first, let reply = client.takeReply(to: id) {
                    guard reply["error"].isNull else { throw TestFailure("\(reply["error"])") }
                    open.removeFirst()
                }
                return open.isEmpty
            }
            guard isAnswered else { throw TestFailure("\(open.count) subscriptions unanswered") }
        }

        private func isWhole(_ client: ChatTestClient, _ place: Int, _ count: Int) -> Bool {
            let holder = client.holder(conversation(place))
            return !holder.isOpen && holder.held.count == count
                && holder.asOf == holder.head["rev"].int
        }

        /// One client of each conversation against the log, and the others against that one.
        private func judge(_ swarm: ClientSwarm) throws {
            for (place, id) in ids.enumerated() {
                let truth = try api.learnChanges(of: id)
                let first = swarm.clients[place].holder(id)
                let isTrue = first.messages == truth.log?.messages
                #expect(isTrue, "\(id)")
                #expect(Oracle(truth).check(first) == [])
                for other in stride(from: place, to: swarm.clients.count, by: ids.count) {
                    let isSame = swarm.clients[other].holder(id).held == first.held
                    #expect(isSame, "client \(other) of \(id)")
                }
            }
        }

        /// It is shown its latest page first and the rest of it by the chain; what both bring, and
        /// what a live change brought before either, is told once.
        @Test func whatThePageShowedFirstIsNotToldAgainByTheChain() throws {
            defer { proxy.close() }
            try api.put("c0", ["participants": ["watcher"]])
            gateway.kill()
            gateway.settings["sync.page"] = "10"
            gateway.settings["sync.pages"] = "3"
            try gateway.start()
            let watcher = try Watcher(gateway, "watcher", ["c0"])
            let swarm = ClientSwarm()
            swarm.add(watcher.client)
            try watcher.subscribe()
            #expect(try swarm.run { watcher.isSubscribed })
            proxy.set(.refusing)
            #expect(try swarm.run { watcher.state == "offline" })
            try api.post(lines(200, "missed"), to: "c0")
            proxy.set(.open)
            let head = try api.learnChanges(of: "c0").log?.headRev ?? 0
            #expect(try swarm.run { watcher.isWhole(["c0": head]) })
            #expect(watcher.judge(api.truths) == [])
            let gaps = watcher.client.recording.filter {
                if case .received(let frame) = $0 { frame["event"] == "gap" } else { false }
            }
            #expect(gaps.count == 1, "the rest was not told as one gap")
        }
    }
}
