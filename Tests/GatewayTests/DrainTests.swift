import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// The orderly end: everybody is told when to come back, and nothing that was said is lost.
    @Suite struct Draining {
        static let clientCount = 200
        /// In milliseconds. A tenth of it is spent closing, and the gateway ends after a fifth of
        /// it at the latest.
        static let window = 30_000

        @Test func everyClientLeavesInItsOwnSlotAndNothingIsLost() throws {
            let gateway = try GatewayProcess(settings: ["drain.window": "\(Self.window)ms"])
            let api = gateway.api()
            let names = (0..<Self.clientCount).map { "user-\($0)" }
            try api.put("ops", ["participants": .array(names.map(JSONValue.string))])
            let swarm = try ClientSwarm(count: names.count, port: gateway.port) { names[$0] }
            try swarm.request("subscribeMessages") { $0.subscription("ops") }
            let farewell = Farewell(swarm)
            let writers = (0..<2).map { Self.writeToTheEnd(gateway.port, $0) }
            #expect(try swarm.run { swarm.clients[0].holder("ops").runs.contains(20) })

            gateway.signal(SIGTERM)
            let signalled = ContinuousClock.now
            let isUnready = try Deadline.standard.poll {
                try gateway.health("/health/ready").status == 503
            }
            #expect(isUnready)
            #expect(try gateway.health().json["draining"].bool == true)
            #expect { try WebSocketConnection(port: gateway.port) } throws: { error in
                (error as? WebSocketConnection.UpgradeRefused)?.status == 503
            }
            #expect(try swarm.run { farewell.look() }, "some are still connected")
            #expect(try gateway.waitForExit() == 0)
            farewell.expectOrderly(ended: ContinuousClock.now - signalled)
            let told = try writers.map { try $0.join() }
            try gateway.start()
            try expectNothingLost(gateway.api(), told, swarm)
        }

        /// Writes until no gateway answers.
        private static func writeToTheEnd(
            _ port: Int, _ place: Int
        ) -> Background<[String: Truth]> {
            Background { _ in
                var writer = RandomWriter(
                    port: port, author: "writer-\(place)", conversations: ["ops"],
                    seed: LiveGateway.seed(8) &+ UInt64(place))
                do {
                    while true {
                        try writer.write()
                        usleep(2000)
                    }
                } catch {}
                return writer.api.truths
            }
        }

        private func expectNothingLost(
            _ api: ServerAPI, _ told: [[String: Truth]], _ swarm: ClientSwarm
        ) throws {
            let newest = try #require(api.learnChanges(of: "ops").log?.headRev)
            // A lost change would lie above the head now, or have another value in its place.
            let truth = try api.truth(of: "ops", toldTo: told)
            #expect(truth.log?.headRev == newest)
            #expect(newest > 20)
            for client in swarm.clients.prefix(10) {
                try client.reconnect()
                #expect(try client.subscribe("ops", limit: 1000)["reset"].bool != true)
                try client.heal("ops")
                #expect(Oracle(truth).check(client.holder("ops")) == [])
            }
        }

        @Test func theSecondSignalStopsAtOnce() throws {
            let gateway = try GatewayProcess(settings: [
                "drain.window": "1h", "drain.deadline": "1h",
            ])
            let swarm = try ClientSwarm(count: 20, port: gateway.port) { "user-\($0)" }
            for client in swarm.clients { client.queuesEvents = true }
            gateway.signal(SIGTERM)
            let last = swarm.clients[19]
            #expect(try last.nextEvent("goaway")["reconnectIn"].int ?? 0 > 0)
            #expect(gateway.isRunning)
            gateway.signal(SIGTERM)
            #expect(try gateway.waitForExit(.standard) == 0)
        }
    }
}

/// How the clients of a swarm were sent away.
private final class Farewell {
    private let swarm: ClientSwarm
    /// The slot of each client, in milliseconds.
    private var slots: [Int: Int] = [:]
    private var reasons: Set<String> = []
    /// The look at which each one's end was seen.
    private var ends: [Int: Int] = [:]
    private var looks = 0

    init(_ swarm: ClientSwarm) {
        self.swarm = swarm
        for (place, client) in swarm.clients.enumerated() {
            client.onFrame = { [unowned self] frame in
                guard frame["event"] == "goaway" else { return }
                #expect(slots[place] == nil, "a second goaway")
                slots[place] = frame["reconnectIn"].int
                frame["reason"].string.map { _ = reasons.insert($0) }
            }
        }
    }

    /// - Returns: Whether all are gone.
    func look() -> Bool {
        looks += 1
        for (place, client) in swarm.clients.enumerated()
        where ends[place] == nil && client.connection.hasEnded {
            ends[place] = looks
        }
        return ends.count == swarm.clients.count
    }

    /// - Parameter ended: when the gateway had ended, from the signal on.
    func expectOrderly(ended: Duration) {
        let window = LiveGateway.Draining.window
        let all = slots.values.sorted()
        #expect(all.count == swarm.clients.count && !reasons.isEmpty)
        #expect(Set(all).count == all.count, "two have the same slot")
        // The successor opens the file when this one has ended: nobody is to come before it can.
        let first = all.first ?? 0
        #expect(first >= window / 5 + 1000)
        #expect(ended < .milliseconds(first), "the first slot began before the file was free")
        #expect(all.allSatisfy { (first...first + window).contains($0) })
        // Spread: no tenth of the window takes more than twice its share.
        let tenths = Dictionary(grouping: all) { ($0 - first) * 10 / (window + 1) }
        #expect(tenths.count == 10)
        #expect(tenths.values.allSatisfy { $0.count <= all.count / 5 })
        #expect(swarm.clients.allSatisfy { $0.connection.closeCode == 3000 })
        // Each is closed in its turn. The clock of the gateway is not ours, but the order is: who
        // has a slot well before another's was not seen to end long after it. (On a busy machine a
        // look takes its time, and several turns pass in one.)
        for (place, end) in ends {
            for (other, otherEnd) in ends where (slots[other] ?? 0) + 6000 < slots[place] ?? 0 {
                #expect(otherEnd <= end + 3, "client \(other) ended after \(place)")
            }
        }
    }
}
