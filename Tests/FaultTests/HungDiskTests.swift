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

        /// A flush that hangs returns no error, so only its age says that nothing can be written.
        @Test func aFlushThatHangsIsSeenEverywhere() throws {
            let gateway = try GatewayProcess(settings: ["page.enabled": "false"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            let alice = try gateway.client("alice")
            _ = try Self.post(by: api)
            let disk = try HungFlushes(
                of: try #require(gateway.processID), for: .seconds(20))
            let writer = Self.writer(gateway)
            let isLost = Deadline.after(.seconds(15)).poll {
                (try? gateway.health("/health/ready").status) == 503
            }
            #expect(isLost)
            let health = try JSONValue(parsing: gateway.health().body)
            #expect(health["status"].string == "down")
            #expect(health["cache"]["writable"].bool == false)
            #expect(health["troubles"].array?.first?["what"].string?.contains("disk") == true)
            let metrics = try gateway.metrics()
            #expect(metrics["gapless_cache_writable"] == 0)
            #expect(metrics["gapless_status{status=\"down\"}"] == 1)
            #expect(metrics["gapless_writes_under_way"] == 1)
            #expect(gateway.logs("level=error event=cache_unwritable"))
            // What is there is read.
            let page = try alice.request(
                "fetchMessages", ["conversation": "ops", "after": 0, "limit": 10])
            #expect(page["messages"].array?.count == 1)
            writer.end()
            disk.mend()
            _ = try writer.join()
            let isBack = Deadline.after(.seconds(30)).poll {
                (try? gateway.health("/health/ready").status) == 200
            }
            #expect(isBack)
        }

        /// A pipe of 4 KiB that nobody reads.
        @Test func aLogThatNobodyReadsStopsNothing() throws {
            let script = """
                import fcntl, os, sys
                reading, writing = os.pipe()
                fcntl.fcntl(writing, 1031, 4096)
                os.set_inheritable(reading, True)
                os.dup2(writing, 2)
                os.execvp(sys.argv[1], sys.argv[1:])
                """
            let gateway = try GatewayProcess(
                settings: ["page.enabled": "false"],
                launcher: ["python3", "-c", script])
            // Each is refused, and a line of the log.
            for name in 0..<90 {
                let answer = try HTTPConnection(port: gateway.port).send(
                    "GET", "/v1/ws",
                    headers: [
                        "Connection": "Upgrade", "Upgrade": "websocket",
                        "Sec-WebSocket-Version": "13",
                        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                        "Origin": "https://elsewhere-\(name).example.com",
                    ])
                #expect(answer.status == 403)
            }
            #expect(try gateway.health("/health/ready").status == 200)
            try gateway.api().put("ops", ["participants": ["alice", "bob"]])
            #expect(try gateway.terminate() == 0)
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
