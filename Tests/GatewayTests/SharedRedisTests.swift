import TestSupport
import Testing

/// What gateways on one Redis do for each other, and what each says of it.
@Suite struct SharedRedisTests {
    private let redis: LinkedRedis

    init() throws { redis = try LinkedRedis() }

    private func gateway(_ settings: [String: String]) throws -> GatewayProcess {
        try GatewayProcess(
            settings: settings.merging(["upstream.kind": "redis", "page.enabled": "false"]) { $1 })
    }

    @Test func aDisconnectReachesEveryGatewayAlsoOneThatWasCutOff() throws {
        let far = try gateway(redis.directSettings)
        let near = try gateway(redis.linkedSettings)
        let path = "/v1/users/alice/disconnect"
        let first = try near.client("alice")
        let here = try far.client("alice")
        let bystander = try near.client("bob")
        #expect(try far.api().call("POST", path)["disconnected"] == 1)
        for client in [first, here] {
            #expect(try client.wait { $0.connection.hasEnded })
            #expect(client.connection.closeCode == 3502)
        }
        // A user who comes back is not disconnected again.
        let second = try near.client("alice")
        redis.proxy.set(.refusing)
        #expect(try Deadline.standard.poll { try near.health("/health/ready").status == 503 })
        #expect(throws: ServerAPI.Refused.self) { try near.api().call("POST", path) }
        #expect(try far.api().call("POST", path)["disconnected"] == 0)
        redis.proxy.set(.open)
        #expect(try Deadline.standard.poll { try near.health("/health/ready").status == 200 })
        // It was done before it was ready.
        #expect(try second.wait(.after(.seconds(5))) { $0.connection.hasEnded })
        #expect(second.connection.closeCode == 3502)
        _ = try bystander.result(of: try bystander.send("unsubscribeConversations"))
        #expect(!bystander.connection.hasEnded)
    }

    @Test func aPageBelowTheFloorNamesWhatIsTrimmed() throws {
        var settings = redis.directSettings
        settings["upstream.redis.retain"] = "10"
        settings["sync.wait"] = "30s"
        let gateway = try gateway(settings)
        let api = gateway.api()
        try api.put("c1", ["participants": ["alice"]])
        for number in 1...25 {
            try api.post([["author": "alice", "body": .string("\(number)")]], to: "c1")
        }
        let client = try gateway.client("alice")
        func gaps(_ params: JSONValue) throws -> [JSONValue] {
            var all = params
            all["conversation"] = "c1"
            let page = try client.result(of: try client.send("fetchMessages", all))
            return page["gaps"].array ?? []
        }
        for params in [["after": 3], ["before": 10], ["before": 18, "limit": 5]] as [JSONValue] {
            let found = try gaps(params)
            #expect(found.count == 1 && found[0]["cause"] == "trimmed", "\(params)")
            #expect(found.first?["after"] == 0 && found.first?["before"] == 16)
            #expect(found.first?["missing"] == 15)
        }
        for params in [[:], ["after": 15], ["before": 20, "limit": 4]] as [JSONValue] {
            #expect(try gaps(params) == [], "\(params)")
        }
    }

    /// Nobody watches, so only the origin knows what it has trimmed.
    @Test func explainAsksTheOriginWhatIsTrimmed() throws {
        var settings = redis.directSettings
        settings["upstream.redis.retain"] = "10"
        let gateway = try gateway(settings)
        try gateway.api().put("c1", ["participants": ["alice"]])
        for number in 1...25 {
            try gateway.api().post([["author": "alice", "body": .string("\(number)")]], to: "c1")
        }
        let other = try self.gateway(settings)
        func fate(_ seq: Int) throws -> String? {
            let path = "/explain?conversation=c1&seq=\(seq)"
            let operations = HTTPConnection(port: other.internalPort)
            return try operations.send("GET", path).json["fate"].string
        }
        #expect(try fate(1) == "trimmed" && fate(15) == "trimmed")
        #expect(try fate(16) == "earlier" && fate(26) == "unknown")
    }

    @Test func whatMayBeLostIsDegradedAndReady() throws {
        let gateway = try gateway(redis.directSettings)
        func status() throws -> String? { try gateway.health().json["status"].string }
        #expect(try Deadline.standard.poll { try status() == "ok" })
        try redis.server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
        #expect(try Deadline.standard.poll { try status() == "degraded" })
        let trouble = try gateway.health().json["troubles"][0]
        #expect(trouble["code"] == "origin_may_evict")
        let remedy = trouble["remedy"].string ?? ""
        #expect(remedy.contains("CONFIG SET maxmemory-policy noeviction"))
        #expect(try gateway.health("/health/ready").status == 200)
        #expect(gateway.logs("allkeys-lfu"))
        try redis.server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        #expect(try Deadline.standard.poll { try status() == "ok" })
        #expect(try gateway.health().json["upstream"][0]["trouble"] == .null)
    }
}
