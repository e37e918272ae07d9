import Foundation
import TestSupport
import Testing

extension Faults {
    /// An application writes to logs in its own transactions, through every outage of its Postgres
    /// and of a gateway's way to it. A client that watches is whole or told at every moment, and
    /// has the whole log in the end. `make application` runs it for ten minutes.
    @Suite struct Applications {
        private static let conversations = ["c0", "c1", "c2", "c3"]
        private static let outages: [PostgresOutage] = [
            .killed, .terminated, .cut, .refused, .stalled,
        ]

        /// How long it writes.
        private static var time: Duration {
            let text = ProcessInfo.processInfo.environment["APPLICATION_SECONDS"]
            return .seconds(text.flatMap { Int($0) } ?? 5)
        }

        private let seed = Faults.seed(900)
        private let origin: LinkedPostgres
        private let gateways: [GatewayProcess]
        private let swarm = ClientSwarm()
        private let watchers: [Watcher]
        private let ledger = Ledger(keeps: 100)

        init() throws {
            origin = try LinkedPostgres(hasStandby: false)
            gateways = try [origin.linkedSettings, origin.directSettings].map { settings in
                try GatewayProcess(settings: Faults.settings.merging(settings) { $1 })
            }
            let people = (0..<8).map { "watcher-\($0)" }
            for id in Self.conversations {
                try gateways[1].api().put(
                    id, ["participants": .array(people.map(JSONValue.string))])
            }
            watchers = try people.enumerated().map { [gateways] place, user in
                let ids = [place % 4, (place + 1) % 4].map { Self.conversations[$0] }
                return try Watcher(gateways[place / 4], user, ids)
            }
            for watcher in watchers {
                swarm.add(watcher.client)
                try watcher.subscribe()
            }
        }

        @Test func everybodyHasWhatAnApplicationCommits() throws {
            let url = origin.directSettings["upstream.postgres.url"] ?? ""
            let application = try Application(url, Self.conversations, ledger, seed: seed)
            let outageCount = try live(through: .now + Self.time)
            application.end()
            #expect(try live(.seconds(60)) { application.isDone }, "the application goes on")
            let tally = try application.tally()

            let reader = gateways[1].api()
            let truths = try Dictionary(
                uniqueKeysWithValues: Self.conversations.map {
                    ($0, try reader.learnChanges(of: $0))
                })
            let heads = truths.mapValues { $0.log?.headRev ?? 0 }
            let isWhole = try live(.seconds(30)) { watchers.allSatisfy { $0.isWhole(heads) } }
            #expect(isWhole, "seed \(seed): \(watchers.map(\.standing))")
            for watcher in watchers {
                for id in watcher.conversations { try watcher.client.heal(id) }
            }
            let faults = watchers.flatMap { $0.judge(truths) }
            #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(10).joined(separator: "\n"))")
            for (id, truth) in truths { #expect(truth.log?.unknownChanges == [], "\(id)") }
            try judge(application, tally, outageCount)
        }

        /// Lets everybody live, from outage to outage.
        /// - Returns: How many there were.
        private func live(through end: ContinuousClock.Instant) throws -> Int {
            var random = SplitMix64(seed: seed)
            var count = 0
            let longest = Self.time > .seconds(60) ? 20_000 : 1500
            while ContinuousClock.now < end {
                let pause = Int.random(in: 500...longest, using: &random)
                _ = try live(min(.milliseconds(pause), end - .now)) { false }
                let outage = Self.outages[count % Self.outages.count]
                try outage.begin(origin)
                _ = try live(.milliseconds(Int.random(in: 100...3000, using: &random))) { false }
                try outage.end(origin)
                count += 1
            }
            return count
        }

        private func live(_ time: Duration, until condition: () throws -> Bool) throws -> Bool {
            try swarm.live(Deadline.after(time), watchers, ledger, until: condition)
        }

        /// Who has which orders: one rule for the clients and for the poller.
        private func judge(
            _ application: Application, _ tally: Application.Tally, _ outageCount: Int
        ) throws {
            let orders = try application.orders()
            let all = orders.values.reduce(into: Set<Int>()) { $0.formUnion($1) }
            var clientsLost = 0
            for watcher in watchers {
                for id in watcher.conversations {
                    let held = watcher.client.holder(id).messages.compactMap { $0["order"].int }
                    clientsLost += Application.lost(of: orders[id] ?? [], by: Set(held))
                    #expect(Set(held).isSubset(of: orders[id] ?? []), "\(id): rolled back")
                }
            }
            #expect(clientsLost == 0)
            #expect(tally.committed > 0 && !all.isEmpty)
            let pollerLost = Application.lost(of: all, by: try application.polled())
            let refused = tally.refused.sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value)" }.joined(separator: " ")
            Faults.report(
                "an application on \(Application.connectionCount) connections for"
                    + " \(Self.time.text) s | outages \(outageCount)"
                    + " | committed \(tally.committed), rolled back \(tally.rolledBack)"
                    + " | refused \(refused) | orders \(all.count)"
                    + " | lost by \(watchers.count) clients \(clientsLost)"
                    + " | lost by a poller of id > last \(pollerLost)")
        }
    }
}
