import TestSupport
import Testing

extension LiveGateway {
    /// The seam between a reply and the events behind it, tried hundreds of times while arrays,
    /// single messages, edits and deletes pour in.
    @Suite struct Subscribing {
        static let conversations = ["ops", "lunch", "release"]

        @Test func betweenReplyAndEventsIsNeitherHoleNorRepeat() throws {
            let seed = LiveGateway.seed(2)
            let gateway = try GatewayProcess()
            let api = gateway.api()
            let users = (0..<16).map { "reader-\($0)" }
            for id in Self.conversations {
                try api.put(id, ["participants": .array(users.map(JSONValue.string))])
            }
            let swarm = try ClientSwarm(count: users.count, port: gateway.port) { users[$0] }
            var random = SplitMix64(seed: seed)
            let readers = swarm.clients.map { Restless($0, seed: random.next()) }
            let writers = RandomWriter.start(
                3, port: gateway.port, conversations: Self.conversations, seed: seed)

            let wanted = 1000 * LiveGateway.scale
            let isEnough = try swarm.run(.after(.seconds(120 * LiveGateway.scale))) {
                for reader in readers { try reader.move() }
                return readers.reduce(0) { $0 + $1.subscribed } >= wanted
            }
            #expect(isEnough, "too few subscriptions, seed \(seed)")
            let truths = try api.gather(writers, Self.conversations)
            for reader in readers { try reader.settle() }
            for id in Self.conversations {
                let truth = try #require(truths[id])
                let log = try #require(truth.log)
                #expect(log.unknownChanges == [], "\(id), seed \(seed)")
                for reader in readers {
                    let isThere = try reader.client.wait {
                        !$0.holder(id).isSubscribed || $0.holder(id).asOf == log.headRev
                    }
                    #expect(isThere, "\(id), seed \(seed)")
                    let faults = Oracle(truth).judge(reader.client.recording, id)
                    #expect(faults == [], "\(id), seed \(seed)")
                }
            }
        }

        /// The gateway reads beside the loop what a holder of many runs lacks, while the stream
        /// goes on, and again where it has gone on.
        @Test func aHolderOfManyRunsIsAnsweredWhileTheConversationGoesOn() throws {
            let seed = LiveGateway.seed(6)
            let gateway = try GatewayProcess(settings: ["limits.requests_per_second": "10000"])
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice"]])
            try api.post(
                (1...400).map { ["author": "alice", "body": .string("\($0)")] }, to: "ops")
            let client = try gateway.client("alice")
            try client.subscribe("ops")
            try client.heal("ops")
            let whole = client.holder("ops")
            try #require(whole.messages.count == 400)
            let holder = Holder(
                head: whole.head, asOf: whole.asOf,
                held: whole.held.filter { !$0.key.isMultiple(of: 2) }, record: whole.record)
            try client.request("unsubscribeMessages", ["conversation": "ops"])

            let writers = RandomWriter.start(
                2, port: gateway.port, conversations: ["ops"],
                habit: RandomWriter.Habit(longestArray: 3, bodies: 1...20, pause: 1000), seed: seed)
            var followed: [Holder] = []
            for round in 0..<20 * LiveGateway.scale {
                client.hold(holder, of: "ops")
                let answer = try client.subscribe("ops", limit: 100)
                #expect(answer["reset"].bool != true, "round \(round), seed \(seed)")
                #expect(answer["boundaries"].array?.count ?? 0 >= 200, "round \(round)")
                followed.append(client.holder("ops"))
                let asOf = client.holder("ops").asOf
                let goesOn = try client.wait { $0.holder("ops").asOf > asOf + 2 }
                #expect(goesOn, "round \(round), seed \(seed)")
                followed.append(client.holder("ops"))
                try client.request("unsubscribeMessages", ["conversation": "ops"])
            }
            let truth = try #require(try api.gather(writers, ["ops"])["ops"])
            let oracle = Oracle(truth)
            for (number, holder) in followed.enumerated() {
                #expect(oracle.check(holder) == [], "holder \(number), seed \(seed)")
            }
        }
    }
}

/// A client that subscribes, subscribes again and unsubscribes all the time, with what it holds or
/// with nothing, and follows each of its subscriptions change by change.
private final class Restless {
    private enum Asked {
        case subscribe(String, withHave: Bool)
        case unsubscribe(String)
    }

    let client: ChatTestClient
    /// Answers to `subscribeMessages`.
    private(set) var subscribed = 0
    private var random: SplitMix64
    private var asked: [Int: Asked] = [:]
    private var traces: [String: SubscriptionTrace] = [:]
    /// How many frames it reads before it moves again.
    private var patience = 0

    init(_ client: ChatTestClient, seed: UInt64) {
        self.client = client
        random = SplitMix64(seed: seed)
        client.records = true
        client.onFrame = { [unowned self] in try took($0) }
    }

    /// Asks for something, if it is time to.
    ///
    /// - Throws: what the client throws.
    func move() throws {
        // Without a subscription nothing comes that it could read meanwhile.
        guard asked.count < 2, patience <= 0 || traces.isEmpty else { return }
        patience = Int.random(in: 0...6, using: &random)
        guard let id = LiveGateway.Subscribing.conversations.randomElement(using: &random) else {
            return
        }
        if client.holder(id).isSubscribed, random.happens(40) {
            let request = try client.send("unsubscribeMessages", ["conversation": .string(id)])
            asked[request] = .unsubscribe(id)
            return
        }
        // Large answers now and then only: it is the test that takes long to read them.
        let most = random.happens(50) ? 10 : random.happens(95) ? 100 : 1000
        let limit = Int.random(in: 1...most, using: &random)
        var params = client.subscription(id, limit: limit)
        if random.happens(30) { params["have"] = .null }
        let withHave = !params["have"].isNull
        asked[try client.send("subscribeMessages", params)] = .subscribe(id, withHave: withHave)
    }

    /// Waits for what it asked for.
    ///
    /// - Throws: `TestFailure` where an answer does not come.
    func settle() throws {
        guard try client.wait(until: { _ in asked.isEmpty }) else {
            throw TestFailure("\(asked.count) answers of a restless client did not come")
        }
    }

    private func took(_ frame: JSONValue) throws {
        patience -= 1
        guard let id = frame["id"].int else {
            guard
                let conversation = frame["conversation"].string
                    ?? frame["conversation"]["id"].string
            else { return }
            guard traces[conversation] != nil else {
                throw TestFailure("an event after the end of a subscription")
            }
            try traces[conversation]?.take(frame)
            return
        }
        guard let request = asked.removeValue(forKey: id) else { return }
        guard frame["error"].isNull else { throw TestFailure("refused: \(frame["error"])") }
        switch request {
        case .unsubscribe(let conversation): traces[conversation] = nil
        case .subscribe(let conversation, let withHave):
            subscribed += 1
            let answer = frame["result"]
            if withHave, answer["reset"].bool == true { throw TestFailure("reset without reason") }
            let trace = try SubscriptionTrace(answer: answer)
            if let position = traces[conversation]?.position, trace.position < position {
                throw TestFailure("an answer stands behind the events before it")
            }
            traces[conversation] = trace
        }
    }
}
