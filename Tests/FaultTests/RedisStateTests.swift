import TestSupport
import Testing

extension Faults {
    /// What can be wrong with a Redis that is there: a clear state in health and log, nothing false
    /// told meanwhile, and right again right after.
    @Suite struct RedisStates {
        private let redis: RedisProcess

        init() throws { redis = try RedisProcess() }

        private func gateway(_ url: String? = nil, waits: Bool = true) throws -> GatewayProcess {
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging(["upstream.redis.url": url ?? redis.url]) { $1 },
                starts: false)
            try gateway.start(waits: waits)
            return gateway
        }

        private func isReady(_ gateway: GatewayProcess) -> Bool {
            (try? gateway.health("/health/ready").status) == 200
        }

        private func code(_ call: () throws -> Void) -> String {
            do {
                try call()
                return "done"
            } catch let error as ServerAPI.Refused {
                return error.code
            } catch {
                return "\(error)"
            }
        }

        private let line: JSONValue = ["author": "writer", "body": "a line"]

        @Test func whoWatchedALogThatWasEmptiedForgetsItAndMayBeginAnew() throws {
            let gateway = try gateway()
            let api = gateway.api()
            for id in ["c1", "c2"] {
                try api.put(id, ["participants": ["alice"]])
                for _ in 1...5 { try api.post(line, to: id) }
            }
            let client = try gateway.client("alice")
            for id in ["c1", "c2"] { try client.subscribe(id) }
            try redis.ask("FLUSHALL")
            for id in ["c1", "c2"] {
                let end = try client.nextEvent("unsubscribed") { $0["conversation"] == .string(id) }
                #expect(end["reason"] == "deleted")
                #expect(client.holder(id).messages == [])
            }
            #expect(gateway.logs("lost its data"))
            #expect(code { _ = try api.conversation("c1") } == "not_found")
            #expect(Deadline.standard.poll { isReady(gateway) })

            // Another log of the same name, as long as the first: nothing of that one is in it.
            let again = gateway.api()
            try again.put("c1", ["participants": ["alice"]])
            let posted = try (1...5).map { _ in try again.post(line, to: "c1") }
            let answer = try client.subscribe("c1")
            #expect(client.holder("c1").messages == posted)
            #expect(answer["head"]["rev"] == 6)
            let health = try gateway.health().json
            #expect(health["status"] == "ok" && health["accounting"]["error"] == 0)
        }

        /// The old log is known to the client alone, the new one to everybody else.
        @Test func aHaveOfALogThatWasEmptiedIsReset() throws {
            let gateway = try gateway()
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice"]])
            for _ in 1...5 { try api.post(line, to: "c1") }
            let client = try gateway.client("alice")
            try client.subscribe("c1")
            client.disconnect()
            gateway.kill()
            try redis.ask("FLUSHALL")
            try gateway.start()
            let again = gateway.api()
            try again.put("c1", ["participants": ["alice"]])
            let posted = try (1...5).map { _ in try again.post(line, to: "c1") }
            try client.reconnect()
            #expect(try client.subscribe("c1")["reset"] == true)
            #expect(client.holder("c1").messages == posted)
        }

        @Test func aWrongPasswordIsSaidWithoutItAndARightOneServes() throws {
            try redis.ask("CONFIG", "SET", "requirepass", "right-secret")
            let url = "redis://:wrong-secret@127.0.0.1:\(redis.port)/0"
            let gateway = try gateway(url, waits: false)
            #expect(Deadline.standard.poll { gateway.log.contains("WRONGPASS") })
            // Time enough for the link to come up once, if it could.
            #expect(
                Deadline.standard.poll {
                    (try? gateway.health().json["upstream"][0]["state"]) == "offline"
                })
            #expect(!isReady(gateway))
            #expect(try gateway.health("/health/live").status == 200)
            #expect(try gateway.health().json["status"] == "degraded")
            #expect(code { try gateway.api().put("c1", [:]) } == "origin_unavailable")
            let client = try gateway.client("alice")
            #expect(throws: ChatTestClient.RequestFailed.self) { try client.subscribe("c1") }

            // The server is given the password that the gateway has.
            try redis.ask(
                "CONFIG", "SET", "requirepass", "wrong-secret", password: "right-secret")
            #expect(Deadline.standard.poll { isReady(gateway) })
            try gateway.api().put("c1", ["participants": ["alice"]])
            // A question that was asked while one of the two connections was not up yet is repeated
            // after the backoff; until then the answer is the one that says: later.
            let isServed = Deadline.standard.poll { (try? client.subscribe("c1")) != nil }
            #expect(isServed && client.holder("c1").head["seq"] == 0)
            #expect(!gateway.log.contains("wrong-secret"))
        }

        @Test func withoutMemoryWritesAreRefusedAndAllElseGoesOn() throws {
            let gateway = try gateway()
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice"]])
            try api.post(line, to: "c1")
            let client = try gateway.client("alice")
            try client.subscribe("c1")
            try redis.ask("CONFIG", "SET", "maxmemory", "1")
            #expect(code { try api.post(line, to: "c1") } == "origin_unavailable")
            #expect(Deadline.standard.poll { gateway.log.contains("OOM") })
            #expect(throws: ChatTestClient.RequestFailed.self) {
                try client.request("sendMessage", ["conversation": "c1", "body": "x"])
            }
            #expect(try api.page("c1", "limit=10")["messages"].array?.count == 1)
            #expect(isReady(gateway))
            // One who comes new is served too.
            let other = try gateway.client("alice")
            #expect(try other.subscribe("c1")["open"] != true)
            try redis.ask("CONFIG", "SET", "maxmemory", "0")
            try api.post(line, to: "c1")
            #expect(try client.wait { $0.holder("c1").messages.count == 2 })
            let isWell = try Deadline.standard.poll { try gateway.health().json["status"] == "ok" }
            #expect(isWell)
        }

        @Test(arguments: ["meta", "messages", "changes", "marks"])
        func aKeyOfTheWrongTypeIsNamedAndHarmsNoOther(_ part: String) throws {
            let gateway = try gateway()
            let api = gateway.api()
            for id in ["c1", "c2"] {
                try api.put(id, ["participants": ["alice"]])
                try api.post(line, to: id)
            }
            let client = try gateway.client("alice")
            for id in ["c1", "c2"] { try client.subscribe(id) }
            let held = client.holder("c1").messages
            let key = "gapless:{c1}:\(part)"
            try redis.ask("DEL", key)
            try redis.ask("XADD", key, "*", "a", "b")
            #expect(code { try api.post(line, to: "c1") } == "origin_unavailable")
            #expect(Deadline.standard.poll { gateway.log.contains(part) })
            try api.post(line, to: "c2")
            #expect(try client.wait { $0.holder("c2").messages.count == 2 })
            #expect(client.holder("c1").messages == held)
            #expect(isReady(gateway))

            // The operator removes it together with the log, and the log begins anew.
            let rest = ["meta", "marks", "messages", "changes", "ids", "members", "reads"]
            for part in rest { try redis.ask("DEL", "gapless:{c1}:\(part)") }
            let again = gateway.api()
            try again.put("c1", ["participants": ["alice"]])
            let ends = try client.wait { client in
                client.events.contains {
                    ["reset", "unsubscribed"].contains($0["event"]) && $0["conversation"] == "c1"
                }
            }
            #expect(ends)
            let posted = try again.post(line, to: "c1")
            try client.subscribe("c1")
            #expect(client.holder("c1").messages == [posted])
        }
    }
}
