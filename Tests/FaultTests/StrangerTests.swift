import TestSupport
import Testing

extension Faults {
    /// To who does not take part in it, a conversation does not exist: counted at the origin, whose
    /// questions cost the time that a stranger could measure.
    @Suite struct Strangers {
        /// Asks that need a conversation in memory.
        private static let asks: [(method: String, params: [String: JSONValue])] = [
            ("subscribeMessages", [:]), ("fetchMessages", ["limit": 1]), ("fetchParticipants", [:]),
            ("findBoundaries", [:]), ("typing", ["state": "begin"]), ("fetchConversation", [:]),
        ]

        @Test(arguments: [Storms.Kind.redis, .postgres])
        func anIDThatIsThereCostsWhatOneCostsThatIsNot(_ kind: Storms.Kind) throws {
            let origin = try kind.origin()
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging(origin.countedSettings) { $1 })
            let api = gateway.api()
            for id in ["watched", "still"] { try api.put(id, ["participants": ["alice"]]) }
            let alice = try gateway.client("alice")
            try alice.subscribe("watched")
            let mallory = try gateway.client("mallory")
            let ids = ["watched", "still", "missing"]
            _ = try origin.takeAsked(about: ids)
            for _ in 0..<3 {
                for ask in Self.asks {
                    for id in ids {
                        let params = ask.params.merging(["conversation": .string(id)]) { $1 }
                        let error = #expect(throws: ChatTestClient.RequestFailed.self) {
                            try mallory.request(ask.method, .object(params))
                        }
                        #expect(error?.code == "not_found")
                    }
                    #expect(try origin.takeAsked(about: ids) == [1, 1, 1], "\(ask.method)")
                }
            }
            // Who joins is let in, whether or not the feed has brought it.
            try api.put("still", ["participants": ["alice", "mallory"]])
            try mallory.subscribe("still")
            withExtendedLifetime(alice) {}
        }
    }
}
