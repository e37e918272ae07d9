/// `flat`: shows that a message costs the same however many other conversations are held, and a
/// delivery the same however many subscribers get it. One message is in flight at a time, so that
/// nothing is batched.
extension Scenario {
    package static let flat = Scenario(
        name: "flat",
        summary: "cost of a message beside idle conversations, of a delivery in crowds",
        options: [
            .init(name: "idle", value: "N,…", help: "idle conversations (10,1000,100000)"),
            .init(
                name: "subscribers", value: "N,…",
                help: "of the one conversation (1,10,100,1000,10000)"),
            .init(name: "warm-up", value: "MS", help: "before anything counts (1000)"),
            .init(name: "span", value: "MS", help: "how long to measure (3000)"),
        ],
        plots: [
            ("CPU for a message to 10 subscribers, beside idle conversations", "CPUPerMessage"),
            ("CPU for a delivery, by subscribers of the conversation", "CPUPerDelivery"),
        ]
    ) { options throws(BenchError) in
        let idle = try options.ints("idle", default: [10, 1000, 100_000], in: 1...1_000_000)
        let counts = try options.ints(
            "subscribers", default: [1, 10, 100, 1000, 10_000], in: 1...100_000)
        let warmUp = try options.int("warm-up", default: 1000, in: 0...600_000)
        let span = try options.int("span", default: 3000, in: 100...600_000)
        func plan(_ subscribers: Int) -> FanoutPlan {
            FanoutPlan(
                subscribers: subscribers, load: .inFlight(1), publishers: 1,
                body: String(repeating: "x", count: 40), warmUp: warmUp * Clock.millisecond,
                span: span * Clock.millisecond, patience: 10 * Clock.second)
        }
        let fewPlan = plan(few)
        let besideIdle = idle.map { idle in
            Case(
                name: "idle \(idle)", parameters: [("idle", idle), ("subscribers", few)],
                settings: ["limits.subscriptions=\(IdleConversations.each)"]
            ) { gateway throws(BenchError) in
                try trial(of: fewPlan, beside: idle, "CPUPerMessage", gateway)
            }
        }
        let inCrowds = counts.map { count in
            let crowd = plan(count)
            return Case(name: "N=\(count)", parameters: [("idle", 0), ("subscribers", count)]) {
                gateway throws(BenchError) in
                try trial(of: crowd, beside: 0, "CPUPerDelivery", gateway)
            }
        }
        return besideIdle + inCrowds
    }

    /// The number of subscribers beside idle conversations.
    private static let few = 10

    private static func trial(
        of plan: FanoutPlan, beside idle: Int, _ figure: String, _ gateway: GatewayProcess
    ) throws(BenchError) -> Trial {
        let swarm = try Swarm(port: gateway.port)
        let base = try subscribe(plan, swarm, gateway)
        let conversations = IdleConversations(count: idle)
        try conversations.subscribe(swarm, gateway)
        let run = FanoutRun(swarm, plan, base: base)
        try run.publish(for: plan.warmUp, measuring: false)
        let (deliveries, completed) = (run.deliveries, run.completed)
        let meter = try UsageMeter(gateway, swarm)
        try run.publish(for: plan.span, measuring: true)
        let usage = try meter.read()
        let messages = Double(max(1, run.completed - completed))
        let delivered = Double(max(1, run.deliveries - deliveries))
        try run.settle(for: plan.patience)
        var trial = Trial()
        let cost = usage.gatewaySeconds * 1e6
        trial.add(figure, cost / (figure == "CPUPerMessage" ? messages : delivered), "µs")
        trial.add("messages", messages, "")
        trial.add(latencies: run.latencies)
        trial.add("residentMemory", Double(try gateway.figures().residentBytes), "B")
        trial.add(usage)
        trial.faults = run.finalFaults() + (try gateway.faults())
        if try gateway.metric("gapless_subscriptions") != plan.subscribers + idle {
            trial.faults.append("the gateway counts other than \(idle) idle subscriptions")
        }
        return trial
    }
}

/// Conversations without messages. Each has one subscriber, who holds many.
private struct IdleConversations {
    /// The number of conversations per client.
    static let each = 1000

    let count: Int

    /// Creates them and subscribes to all, with new clients after the existing ones.
    func subscribe(_ swarm: Swarm, _ gateway: GatewayProcess) throws(BenchError) {
        let api = try gateway.api()
        for number in 0..<count {
            try api.create("idle-\(number)", participants: ["idle-\(number / Self.each)"])
        }
        let first = swarm.clients.count
        let holders = try swarm.open((count + Self.each - 1) / Self.each)
        try swarm.connect(holders) { "idle-\($0 - first)" }
        for place in 0..<Self.each {
            let those = holders.prefix { ($0 - first) * Self.each + place < count }
            try swarm.ask(first..<(first + those.count)) { client in
                Request.subscribe(
                    id: place + 2,
                    conversation: "idle-\((client.index - first) * Self.each + place)", limit: 1)
            }
        }
    }
}
