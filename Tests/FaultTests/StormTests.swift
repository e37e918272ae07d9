import TestSupport
import Testing

extension Faults {
    /// P2: what an outage costs the origin follows from what was missed, not from how many clients
    /// watch, though half of them come back with what they hold at the moment the link does.
    @Suite struct Storms {
        static let conversationCount = 50
        static let page = 100
        static let sizes = Faults.isLong ? [2000, 10_000] : [400]

        /// What is counted at which origin, with how many clients: in the long run at both.
        static let origins: [(Kind, Int)] =
            sizes.map { (.redis, $0) } + (Faults.isLong ? sizes.map { (.postgres, $0) } : [])

        enum Kind: String, Sendable {
            case redis = "Redis"
            case postgres = "Postgres"

            func origin() throws -> any CountedOrigin {
                switch self {
                case .redis: try CountedRedis()
                case .postgres: try CountedPostgres()
                }
            }
        }

        private let ids = (0..<Self.conversationCount).map { "c\($0)" }

        private func gateway(
            _ settings: [String: String], _ more: [String: String] = [:]
        ) throws -> GatewayProcess {
            try GatewayProcess(
                settings: Faults.settings.merging(settings) { $1 }.merging(more) { $1 })
        }

        @Test(arguments: origins)
        func fetchesFollowWhatWasMissedAndNotTheNumberOfClients(
            _ kind: Kind, _ clientCount: Int
        ) throws {
            let origin = try kind.origin()
            let gateway = try gateway(origin.countedSettings, ["sync.page": "\(Self.page)"])
            let far = try self.gateway(origin.directSettings)
            let api = far.api()
            let inserted = 130
            let edited = 20
            for id in ids { try api.put(id, ["participants": ["watcher"]]) }
            for id in ids { try api.post(lines(50, "\(id)-old"), to: id) }
            let swarm = try ClientSwarm(count: clientCount, port: gateway.port) { _ in "watcher" }
            try subscribe(swarm, Array(swarm.clients.indices))
            try origin.prepare(gateway)
            _ = try origin.takeReads()
            let before = try gateway.fetches()

            origin.proxy.set(.stalled)
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
            origin.proxy.set(.open)
            let began = ContinuousClock.now
            for place in leaving { try swarm.clients[place].reconnect() }
            try subscribe(swarm, leaving)
            let areWhole = try swarm.run(.after(.seconds(120))) {
                swarm.clients.indices.allSatisfy { isWhole(swarm.clients[$0], $0, 50 + inserted) }
            }
            #expect(areWhole, "not whole in time: \(stragglers(swarm, 50 + inserted))")
            let took = ContinuousClock.now - began

            let after = try gateway.fetches()
            let counts = after.mapValues { $0 }.merging(before) { $0 - $1 }
            let slots = inserted + edited
            let allowed = 2 + (slots + Self.page - 1) / Self.page
            let reads = try origin.takeReads()
            let used = reads.fetches
            let total = used.values.reduce(0, +)
            #expect(used.count == ids.count && used.values.allSatisfy { $0 <= allowed }, "\(used)")
            #expect(total == (counts["range"] ?? 0) + (counts["changes"] ?? 0), "\(counts)")
            try judge(swarm, api)
            Faults.report(
                "storm on \(kind.rawValue) | clients \(clientCount) | conversations \(ids.count)"
                    + " | changed slots each \(slots) | range+changes of one at most"
                    + " \(used.values.max() ?? 0) of \(allowed) allowed, of all \(total)"
                    + " | chains of the feed \(reads.chains) | commands \(reads.commands)"
                    + " | heads \(counts["heads"] ?? 0)"
                    + " | conversation \(counts["conversation"] ?? 0) | whole in \(took.text) s")
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

        private func stragglers(_ swarm: ClientSwarm, _ count: Int) -> String {
            let places = swarm.clients.indices.filter { !isWhole(swarm.clients[$0], $0, count) }
            let first = places.prefix(3).map { place in
                let holder = swarm.clients[place].holder(conversation(place))
                return "client \(place) holds \(holder.held.count) of \(count),"
                    + " asOf \(holder.asOf) of \(holder.head["rev"].int ?? 0)"
                    + (holder.isOpen ? ", open" : "")
                    + (swarm.clients[place].connection.hasEnded ? ", gone" : "")
            }
            return "\(places.count): \(first.joined(separator: "; "))"
        }

        /// One client of each conversation against the log, and the others against that one.
        private func judge(_ swarm: ClientSwarm, _ api: ServerAPI) throws {
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
            let origin = try CountedRedis()
            let gateway = try gateway(
                origin.countedSettings, ["sync.page": "10", "sync.pages": "3"])
            let far = try self.gateway(origin.directSettings)
            let api = far.api()
            try api.put("c0", ["participants": ["watcher"]])
            let watcher = try Watcher(gateway, "watcher", ["c0"])
            let swarm = ClientSwarm()
            swarm.add(watcher.client)
            try watcher.subscribe()
            #expect(try swarm.run { watcher.isSubscribed })
            origin.proxy.set(.refusing)
            #expect(try swarm.run { watcher.state == "offline" })
            try api.post(lines(200, "missed"), to: "c0")
            origin.proxy.set(.open)
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
