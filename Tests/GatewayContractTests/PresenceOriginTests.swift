import TestSupport
import Testing

/// Two gateways of one origin: what one says of its users, connections of the other are told; what
/// becomes of the users of one that is killed, that stops, or that is cut off.
@Suite struct PresenceOriginTests {
    enum Kind: String, CaseIterable { case redis, postgres }

    /// Two gateways, and what they stand on.
    private struct Pair {
        let redis: RedisProcess?
        let gateways: [GatewayProcess]

        init(_ kind: Kind, _ more: [String: String] = [:]) throws {
            var settings = [
                "upstream.kind": kind.rawValue, "presence.interval": "100ms",
                "presence.linger": "1s", "presence.lease": "2s", "presence.grace": "1s",
            ]
            settings.merge(more) { $1 }
            switch kind {
            case .redis:
                let redis = try RedisProcess()
                self.redis = redis
                settings["upstream.redis.url"] = redis.url
            case .postgres:
                redis = nil
                settings["upstream.postgres.url"] = try PostgresProcess.sharedDatabase()
            }
            gateways = try (0..<2).map { _ in try GatewayProcess(settings: settings) }
        }

        var first: GatewayProcess { gateways[0] }
        var second: GatewayProcess { gateways[1] }

        /// A connection of the second gateway that watches `bob`, who takes part with `ann`.
        func watcher() throws -> ChatTestClient {
            try first.api().put("c", ["participants": ["ann", "bob", "carl"]])
            let client = try second.client("ann")
            let isSettled = Deadline.after(.seconds(20)).poll {
                (try? Self.watch(client)) == "absent"
            }
            try #require(isSettled)
            // What was told between two calls is in the answer to the second.
            while !client.events("presence").isEmpty { _ = try client.nextEvent("presence") }
            return client
        }

        static func watch(_ client: ChatTestClient) throws -> String {
            let watch: JSONValue = ["watch": [["conversation": "c", "users": ["bob"]]]]
            return try client.request("watchPresence", watch)["presence"][0]["state"].string ?? ""
        }

        /// The next change of `bob` that the client is told.
        func next(_ client: ChatTestClient) throws -> JSONValue {
            try client.nextEvent("presence")["changes"][0]
        }
    }

    @Test(arguments: Kind.allCases) func whatOneGatewayHasTheOtherTells(_ kind: Kind) throws {
        let pair = try Pair(kind)
        let watcher = try pair.watcher()
        let bob = try pair.first.client("bob")
        let came = try pair.next(watcher)
        #expect(came["state"] == "present")
        // A second connection, by the other gateway, and the end of the first change nothing.
        let other = try pair.second.client("bob")
        bob.disconnect()
        try other.request("setPresence", ["state": "away"])
        #expect(try pair.next(watcher)["state"] == "away")
        let again = try pair.first.client("bob")
        #expect(try pair.next(watcher)["state"] == "present")
        again.disconnect()
        #expect(try pair.next(watcher)["state"] == "away")
        other.disconnect()
        #expect(try pair.next(watcher)["state"] == "absent")
        let seen = try pair.first.api().call("GET", "/v1/presence?users=bob")
        #expect(seen["presence"][0]["state"] == "absent")
    }

    @Test(arguments: Kind.allCases) func usersOfAKilledGatewayAreUnknownFirst(_ kind: Kind) throws {
        let pair = try Pair(kind)
        let watcher = try pair.watcher()
        let bob = try pair.first.client("bob")
        #expect(try pair.next(watcher)["state"] == "present")
        pair.first.kill()
        let lost = try pair.next(watcher)
        #expect(lost["state"] == "unknown")
        let gone = try pair.next(watcher)
        #expect(gone["state"] == "absent")
        #expect(gone["since"] == lost["since"] && gone["since"].string != nil)
        _ = bob
    }

    @Test(arguments: Kind.allCases) func whoComesBackElsewhereIsNotMissed(_ kind: Kind) throws {
        let pair = try Pair(kind)
        let watcher = try pair.watcher()
        let both: JSONValue = ["watch": [["conversation": "c", "users": ["bob", "carl"]]]]
        try watcher.request("watchPresence", both)
        let (bob, carl) = (try pair.first.client("bob"), try pair.first.client("carl"))
        var states: [String: String] = [:]
        func told(_ wanted: [String: String]) throws {
            while !wanted.allSatisfy({ states[$0] == $1 }) {
                for change in try watcher.nextEvent("presence")["changes"].array ?? [] {
                    states[change["user"].string ?? ""] = change["state"].string
                    // Until then nothing is told of who came back.
                    if wanted.keys.contains("carl"), change["user"] == "bob" {
                        #expect(change["state"] == "present")
                    }
                }
            }
        }
        try told(["bob": "present", "carl": "present"])
        pair.first.kill()
        let again = try pair.second.client("bob")
        // Who did not come back shows that the lease of the first gateway is over.
        try told(["carl": "absent"])
        again.disconnect()
        try told(["bob": "absent"])
        _ = (bob, carl)
    }

    @Test(arguments: Kind.allCases) func aGatewayThatStopsSaysWhoLeft(_ kind: Kind) throws {
        let pair = try Pair(kind, ["drain.window": "100ms"])
        let watcher = try pair.watcher()
        let bob = try pair.first.client("bob")
        #expect(try pair.next(watcher)["state"] == "present")
        #expect(try pair.first.terminate() == 0)
        let gone = try pair.next(watcher)
        #expect(gone["state"] == "absent" && gone["since"].string != nil)
        _ = bob
    }

    /// The data is gone with the process: nobody is absent until the gateways had time to say.
    @Test func anOriginThatForgotIsToldAgain() throws {
        let pair = try Pair(.redis)
        let watcher = try pair.watcher()
        let bob = try pair.first.client("bob")
        #expect(try pair.next(watcher)["state"] == "present")
        try #require(pair.redis).kill()
        _ = try watcher.nextEvent("upstream") { $0["state"] == "offline" }
        let asked: JSONValue = ["watch": [["conversation": "c"]]]
        let away = try watcher.request("watchPresence", asked)
        #expect(away["open"] == true)
        #expect(away["presence"].array?.first { $0["user"] == "bob" }?["state"] == "present")
        try #require(pair.redis).restart()
        _ = try watcher.nextEvent("upstream") { $0["state"] == "online" }
        let isBack = Deadline.after(.seconds(20)).poll {
            let seen = try? pair.second.api().call("GET", "/v1/presence?users=bob,ann")
            return seen?["presence"].column("state") == ["present", "present"]
        }
        #expect(isBack)
        let states = watcher.events("presence").flatMap { $0["changes"].column("state") }
        #expect(!states.contains("absent"))
        _ = bob
    }
}
