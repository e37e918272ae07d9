import TestSupport
import Testing

extension Faults {
    /// A gateway that has one core commits on the loop on which all its sockets depend. When its
    /// disk hangs, the loop waits for it once; from then on those who write wait, and nobody else.
    @Suite struct HungDisks {
        private static let hang = Duration.seconds(2)

        /// Writes one message after the other.
        /// - Returns: what each took.
        private static func writer(_ gateway: GatewayProcess) -> Background<[Duration]> {
            let port = gateway.port
            return Background { stop in
                let api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey, learnsWrites: false)
                var times: [Duration] = []
                while !stop.isOver { times.append(try Self.post(by: api)) }
                return times
            }
        }

        private static func post(by api: ServerAPI) throws -> Duration {
            try time { try api.post(["author": "bob", "body": "hello"], to: "ops") }
        }

        private static func time(_ work: () throws -> Void) rethrows -> Duration {
            let clock = ContinuousClock()
            return try clock.measure(work)
        }

        @Test func onOneCoreOthersAreAnsweredWhileTheDiskHangs() throws {
            let gateway = try GatewayProcess(
                settings: ["page.enabled": "false"], launcher: GatewayProcess.onOneCore)
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let alice = try gateway.client("alice")
            // The loop commits these, unless this disk is so slow that it does not.
            for _ in 0..<20 { _ = try Self.post(by: api) }
            let process = try #require(gateway.processID)
            let disk = try HungFlushes(of: process, for: Self.hang)
            #expect(try Self.post(by: api) >= Self.hang)
            let writer = Self.writer(gateway)
            var slowest = Duration.zero
            let end = ContinuousClock.now + Self.hang * 3
            while ContinuousClock.now < end {
                let asked = try Self.time {
                    #expect(try gateway.health("/health/live").status == 200)
                    let page = try alice.request(
                        "fetchMessages", ["conversation": "ops", "after": 0, "limit": 10])
                    #expect(page["messages"].array?.count == 10)
                }
                slowest = max(slowest, asked)
            }
            writer.end()
            let times = try writer.join()
            #expect(times.count >= 2 && times.allSatisfy { $0 >= Self.hang }, "\(times)")
            #expect(slowest < Self.hang / 2, "\(slowest)")
            disk.mend()
            #expect(try Self.post(by: api) < Self.hang)
        }
    }
}
