import TestSupport
import Testing

/// Somebody with a long list who asks for it again and again, on a real Redis.
@Suite struct LongListTests {
    @Test func threeHundredQuestionsForTenThousandConversationsBreakNoLinkAndEndWithTheAsker()
        throws
    {
        let redis = try LinkedRedis()
        let gateway = try GatewayProcess(
            settings: redis.directSettings.merging([
                "upstream.kind": "redis", "page.enabled": "false",
                "limits.requests_per_second": "0",
            ]) { $1 })
        let fill = """
            local time = redis.call('TIME')[1] * 1000
            for n = 1, 10000 do redis.call('ZADD', KEYS[1], time, 'none-' .. n) end
            """
        try redis.server.ask("EVAL", fill, "1", "gapless:user:alice")
        let api = gateway.api()
        try api.put("c1", ["participants": ["bob"]])
        let bob = try gateway.client("bob")
        let alice = try gateway.client("alice")
        try alice.send("fetchConversations", ["limit": 10], times: 300)
        try send(by: bob, for: .seconds(5))
        alice.disconnect()
        // What is under way ends; the gateway asks nothing more for a user who has left.
        let isQuiet = try Deadline.standard.poll {
            let before = try scripts(redis)
            try bob.request("sendMessage", ["conversation": "c1", "body": "still here"])
            return try scripts(redis) - before < 20
        }
        #expect(isQuiet)
        #expect(!gateway.log.contains("no reply in time"), "\(gateway.log)")
        #expect(try gateway.health().json["status"] == "ok")
    }

    /// Sends one message after the other; none of them is refused.
    private func send(by client: ChatTestClient, for time: Duration) throws {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            try client.request("sendMessage", ["conversation": "c1", "body": "hello"])
        }
    }

    /// How many scripts the server has run.
    private func scripts(_ redis: LinkedRedis) throws -> Int {
        let found = try redis.server.info("commandstats")["cmdstat_evalsha"]
        return found?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
    }
}
