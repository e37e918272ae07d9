import TestSupport
import Testing

extension LiveGateway {
    /// A conversation that was deleted and created again under its id is another one. A client that
    /// knew the first is told so, and never holds some of both.
    @Suite struct Recreation {
        static func create(_ api: ServerAPI, generation: Int, messages: Int) throws {
            try api.put("ops", ["participants": ["alice"], "title": .string("\(generation)")])
            guard messages > 0 else { return }
            let body = JSONValue.string("generation \(generation)")
            try api.post(
                (0..<messages).map { _ in ["author": "alice", "body": body] }, to: "ops")
        }

        static func bodies(_ holder: Holder) -> Set<String?> {
            Set(holder.messages.map { $0["body"].string })
        }

        /// Shorter than before, longer, as long, and empty: numbers alone would fit or would not.
        @Test(arguments: [3, 40, 20, 0])
        func whoWasAwayIsReset(messages: Int) throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try Self.create(api, generation: 1, messages: 20)
            let client = try gateway.client("alice")
            try client.subscribe("ops")
            client.disconnect()
            try api.deleteConversation("ops")
            try Self.create(api, generation: 2, messages: messages)
            try client.reconnect()
            let answer = try client.subscribe("ops")
            #expect(answer["reset"].bool == true)
            #expect(answer["conversation"]["title"] == "2")
            #expect(client.holder("ops").messages.count == messages)
            #expect(Self.bodies(client.holder("ops")) == (messages > 0 ? ["generation 2"] : []))
        }

        @Test func whoWatchesIsToldThatItIsGone() throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try Self.create(api, generation: 1, messages: 20)
            let client = try gateway.client("alice")
            try client.subscribe("ops")
            let held = client.subscription("ops")
            try api.deleteConversation("ops")
            #expect(try client.nextEvent("unsubscribed")["reason"] == "deleted")
            #expect(client.holder("ops").have == nil)
            #expect(throws: ChatTestClient.RequestFailed.self) { try client.subscribe("ops") }

            try Self.create(api, generation: 2, messages: 5)
            // Also one that did not forget.
            #expect(try client.request("subscribeMessages", held)["reset"].bool == true)
            #expect(Self.bodies(client.holder("ops")) == ["generation 2"])
            try api.post(["author": "alice", "body": "generation 2"], to: "ops")
            _ = try client.nextEvent("messages")
            #expect(client.holder("ops").missing().isEmpty)
            #expect(client.holder("ops").messages.count == 6)
        }

        /// Subscriptions and pages race with the change from one log to the next.
        @Test func noFrameEverMixesTheTwo() throws {
            // Answers come fast enough for eight clients to ask for more than they may.
            let gateway = try GatewayProcess(settings: [
                "limits.requests_per_second": "10000"
            ])
            let swarm = try ClientSwarm(count: 8, port: gateway.port) { _ in "alice" }
            let hasty = swarm.clients.enumerated().map { place, client in
                Hasty(client, seed: LiveGateway.seed(6) &+ UInt64(place))
            }
            let port = gateway.port
            let rounds = 200 * LiveGateway.scale
            let writer = Background<Void> { stop in
                let api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey)
                for generation in 1...rounds where !stop.isOver {
                    try Recreation.create(api, generation: generation, messages: 5)
                    let body = JSONValue.string("generation \(generation)")
                    for _ in 0..<generation % 7 {
                        try api.post(["author": "alice", "body": body], to: "ops")
                    }
                    if generation < rounds { try api.deleteConversation("ops") }
                }
            }
            let isDone = try swarm.run(.after(.seconds(60 * LiveGateway.scale))) {
                for one in hasty { try one.move() }
                return writer.isDone
            }
            try writer.join()
            #expect(isDone)
            #expect(hasty.reduce(0) { $0 + $1.generations.count } > rounds / 2)
            for one in hasty { try one.settle(last: "generation \(rounds)") }
        }
    }
}

/// A client that subscribes and fetches without a pause, and looks after every frame whether what
/// it holds is of one log.
private final class Hasty {
    private let client: ChatTestClient
    private var random: SplitMix64
    private var asked: Set<Int> = []
    private(set) var generations: Set<String> = []

    init(_ client: ChatTestClient, seed: UInt64) {
        self.client = client
        random = SplitMix64(seed: seed)
        client.onFrame = { [unowned self] in try took($0) }
    }

    func move() throws {
        guard asked.count < 2 else { return }
        let limit = Int.random(in: 1...30, using: &random)
        if random.happens(60) {
            let params = client.subscription("ops", limit: limit)
            asked.insert(try client.send("subscribeMessages", params))
        } else {
            let params: JSONValue = ["conversation": "ops", "limit": .int(limit)]
            asked.insert(try client.send("fetchMessages", params))
        }
    }

    private func took(_ frame: JSONValue) throws {
        if let id = frame["id"].int, frame["cached"].bool != true { asked.remove(id) }
        let bodies = LiveGateway.Recreation.bodies(client.holder("ops"))
        guard bodies.count <= 1 else { throw TestFailure("\(bodies) are held together") }
        if let body = bodies.first ?? nil { generations.insert(body) }
        let code = frame["error"]["code"].string
        guard code == nil || code == "not_found" else { throw TestFailure("\(frame["error"])") }
    }

    func settle(last: String) throws {
        guard try client.wait(until: { _ in asked.isEmpty }) else {
            throw TestFailure("an answer did not come")
        }
        try client.subscribe("ops", limit: 1000)
        try client.heal("ops")
        guard LiveGateway.Recreation.bodies(client.holder("ops")) == [last] else {
            throw TestFailure("at the end something else than \(last) is held")
        }
    }
}
