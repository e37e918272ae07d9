import JSON

/// What one case of the fan-out is made of.
struct FanoutPlan: Sendable {
    enum Load: Sendable {
        /// A closed loop with as many messages under way.
        case inFlight(Int)
        /// An open loop with as many messages a second.
        case perSecond(Int)
    }

    static let conversation = "bench"

    let subscribers: Int
    let load: Load
    let publishers: Int
    let body: String
    let warmUp: Nanoseconds
    let span: Nanoseconds
    let patience: Nanoseconds

    var name: String {
        switch load {
        case .inFlight(let width): "N=\(subscribers) w\(width)"
        case .perSecond(let rate): "N=\(subscribers) r\(rate)"
        }
    }

    var parameters: [(name: String, value: Int)] {
        let load: (String, Int) =
            switch self.load {
            case .inFlight(let width): ("inFlight", width)
            case .perSecond(let rate): ("perSecond", rate)
            }
        return [
            ("subscribers", subscribers), load, ("publishers", publishers),
            ("bodyBytes", body.utf8.count),
        ]
    }
}

/// `fanout`: the whole pipeline under load. A message comes in as JSON, is committed, answered, and
/// delivered to every subscriber; the books are looked at in the end.
extension Scenario {
    static let fanout = Scenario(
        name: "fanout", summary: "deliveries and messages per second, latency, CPU",
        options: [
            .init(name: "subscribers", value: "N,…", help: "of the one conversation (1,1000)"),
            .init(name: "in-flight", value: "W,…", help: "closed loops with W messages (1,16)"),
            .init(name: "rate", value: "R,…", help: "open loops with R messages a second (none)"),
            .init(name: "publishers", value: "N", help: "connections that send (8)"),
            .init(name: "body", value: "BYTES", help: "length of a message's text (40)"),
            .init(name: "warm-up", value: "MS", help: "before anything counts (1000)"),
            .init(name: "span", value: "MS", help: "how long to measure (2000)"),
            .init(name: "settle", value: "MS", help: "wait for the last deliveries (10000)"),
            .init(
                name: "also", value: "KEY=VALUE", help: "the same with this setting too",
                repeats: true),
            .init(
                name: "peer", value: "NAME=URL[,URL]",
                help: "a server that hands on what it gets, at the publishers' URL", repeats: true),
        ]
    ) { options throws(BenchError) in
        let counts = try options.ints("subscribers", default: [1, 1000], in: 1...100_000)
        let widths = try options.ints("in-flight", default: [1, 16], in: 1...100_000)
        let rates = try options.ints("rate", default: [], in: 1...1_000_000)
        let publishers = try options.int("publishers", default: 8, in: 1...1000)
        let body = String(
            repeating: "x", count: try options.int("body", default: 40, in: 1...16_384))
        let warmUp = try options.int("warm-up", default: 1000, in: 0...600_000)
        let span = try options.int("span", default: 2000, in: 100...600_000)
        let settle = try options.int("settle", default: 10_000, in: 100...600_000)
        let loads = widths.map(FanoutPlan.Load.inFlight) + rates.map(FanoutPlan.Load.perSecond)
        var peers: [Peer] = []
        for text in options.all("peer") { peers.append(try Peer(text)) }
        let variants = [[]] + options.all("also").map { [$0] }
        return counts.flatMap { count in
            loads.flatMap { load in
                let plan = FanoutPlan(
                    subscribers: count, load: load, publishers: publishers, body: body,
                    warmUp: warmUp * Clock.millisecond, span: span * Clock.millisecond,
                    patience: settle * Clock.millisecond)
                return cases(of: plan, variants, peers)
            }
        }
    }

    /// One load, on the gateway with each of the settings, and on each peer.
    private static func cases(
        of plan: FanoutPlan, _ variants: [[String]], _ peers: [Peer]
    ) -> [Case] {
        let size = DeliverySize()
        let own = variants.map { settings in
            Case(name: plan.name, parameters: plan.parameters, settings: settings) {
                gateway throws(BenchError) in try trial(of: plan, gateway, size)
            }
        }
        return own
            + peers.map { peer in
                Case(name: plan.name, parameters: plan.parameters, peer: peer.name) {
                    () throws(BenchError) in try trial(of: plan, peer, size)
                }
            }
    }

    private static func trial(
        of plan: FanoutPlan, _ gateway: GatewayProcess, _ size: DeliverySize
    ) throws(BenchError) -> Trial {
        let swarm = try Swarm(port: gateway.port)
        let base = try subscribe(plan, swarm, gateway)
        let run = FanoutRun(swarm, plan, base: base)
        var trial = try measure(run, plan) { () throws(BenchError) in try gateway.figures() }
        size.note(trial.figures.first { $0.name == "bytesPerDelivery" }?.value ?? 0)
        trial.faults = run.finalFaults() + (try gateway.faults())
        return trial
    }

    /// Makes the conversation, and lets everybody in.
    /// - Returns: the head's seq.
    static func subscribe(
        _ plan: FanoutPlan, _ swarm: Swarm, _ gateway: GatewayProcess
    ) throws(BenchError) -> Int {
        let conversation = FanoutPlan.conversation
        let everybody = 0..<(plan.subscribers + plan.publishers)
        // Everybody is somebody else, as they would be.
        let api = try gateway.api()
        try api.create(conversation, participants: everybody.map { "user-\($0)" })
        try swarm.open(everybody.count)
        try swarm.connect(everybody) { "user-\($0)" }
        try swarm.ask(0..<plan.subscribers) { _ in
            Request.subscribe(id: 2, conversation: conversation, limit: 1)
        }
        return try api.head(of: conversation).object?["seq"]?.int ?? 0
    }

    private static func trial(
        of plan: FanoutPlan, _ peer: Peer, _ size: DeliverySize
    ) throws(BenchError) -> Trial {
        let processes = try peer.processes()
        let swarm = try Swarm(peer.endpoint)
        let subscribers = try swarm.open(plan.subscribers, saying: swarm.upgrade(at: peer.path))
        var publishers = subscribers.suffix(plan.publishers)
        if let path = peer.publisherPath {
            publishers = try swarm.open(plan.publishers, saying: swarm.upgrade(at: path))
        }
        if peer.isNATS {
            publishers = try swarm.open(plan.publishers, saying: swarm.upgrade(at: peer.path))
            try swarm.ask(subscribers, { _ in NATS.subscription }, isAnswer: NATS.isGreeted)
            try swarm.ask(publishers, { _ in NATS.greeting }, isAnswer: NATS.isGreeted)
        }
        let run = FanoutRun(
            swarm, plan, base: 0, publishers: publishers, peerBytes: try size.bytes(),
            isNATS: peer.isNATS)
        var trial = try measure(run, plan) { () throws(BenchError) in
            try ProcessFigures(of: processes)
        }
        trial.faults = run.finalFaults()
        return trial
    }

    private static func measure(
        _ run: FanoutRun, _ plan: FanoutPlan,
        _ figures: @escaping () throws(BenchError) -> ProcessFigures
    ) throws(BenchError) -> Trial {
        try run.publish(for: plan.warmUp, measuring: false)
        let (deliveries, completed, bytes) = (run.deliveries, run.completed, run.bytes)
        let meter = try UsageMeter(run.swarm, figures)
        try run.publish(for: plan.span, measuring: true)
        let usage = try meter.read()
        let resident = try figures().residentBytes
        let delivered = Double(run.deliveries - deliveries)
        let messages = Double(run.completed - completed)
        let size = Double(run.bytes - bytes) / max(1, delivered)
        try run.settle(for: plan.patience)

        var trial = Trial()
        trial.add("deliveriesPerSecond", delivered / usage.wallSeconds, "1/s")
        trial.add("deliveriesPerCPUSecond", delivered / max(1e-6, usage.gatewaySeconds), "1/s")
        trial.add("messagesPerSecond", messages / usage.wallSeconds, "1/s")
        trial.add("messagesPerCPUSecond", messages / max(1e-6, usage.gatewaySeconds), "1/s")
        trial.add(latencies: run.latencies)
        trial.add("bytesPerDelivery", size, "B")
        trial.add("residentMemory", Double(resident), "B")
        trial.add(usage)
        return trial
    }
}
