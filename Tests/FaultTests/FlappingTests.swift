import TestSupport
import Testing

extension Faults {
    /// A Redis whose connections come and go: readiness does not follow each of them.
    @Suite struct Flapping {
        @Test func readinessIsBackWhenTheFeedHasStayedForAsLongAsItsLossTakesToBeNoticed() throws {
            let redis = try RedisProcess()
            let proxy = try TCPProxy(to: redis.port)
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging(
                    ["upstream.redis.url": "redis://127.0.0.1:\(proxy.port)"]) { $1 })
            func isReady() -> Bool { (try? gateway.health("/health/ready").status) == 200 }
            func state() -> JSONValue? { try? gateway.health().json["upstream"][0]["state"] }
            // A start is no outage: `GatewayProcess` has waited for it.
            #expect(isReady())
            var restored = ContinuousClock.now
            for round in 0..<4 {
                proxy.set(.refusing)
                #expect(Deadline.standard.poll { state() == "offline" }, "\(round)")
                #expect(!isReady(), "\(round): ready while offline")
                restored = .now
                proxy.set(.open)
                #expect(Deadline.standard.poll { state() != "offline" }, "\(round)")
                let wasReady = isReady()
                if ContinuousClock.now - restored < .seconds(2) {
                    #expect(!wasReady, "\(round): ready at once")
                }
            }
            #expect(Deadline.standard.poll(until: isReady))
            #expect(ContinuousClock.now - restored >= .seconds(2))
            // What is reset as soon as it is up is never there.
            proxy.set(.flapping)
            #expect(Deadline.standard.poll { !isReady() })
            #expect((0..<300).allSatisfy { _ in !isReady() })
            proxy.set(.open)
            #expect(Deadline.standard.poll(until: isReady))
            #expect(try gateway.health().json["accounting"]["error"] == 0)
        }
    }
}
