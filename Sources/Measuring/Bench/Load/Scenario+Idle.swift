/// `idle`: the cost of a connection that only holds one subscription. The kernel's share is read
/// from its slabs, which belong to the whole machine and cover both ends of each connection.
extension Scenario {
    static let idle = Scenario(
        name: "idle", summary: "memory of idle connections, CPU to connect them",
        options: [
            .init(name: "connections", value: "N,…", help: "how many (1000)"),
            .init(name: "conversations", value: "N", help: "spread over as many (1)"),
        ]
    ) { options throws(BenchError) in
        let counts = try options.ints("connections", default: [1000], in: 1...100_000)
        let conversations = try options.int("conversations", default: 1, in: 1...100_000)
        return counts.map { count in
            Case(
                name: "N=\(count)",
                parameters: [("connections", count), ("conversations", conversations)]
            ) { gateway throws(BenchError) in
                try trial(connections: count, conversations: conversations, gateway)
            }
        }
    }

    private static func trial(
        connections: Int, conversations: Int, _ gateway: GatewayProcess
    ) throws(BenchError) -> Trial {
        let api = try gateway.api()
        for number in 0..<conversations {
            // Only those who will subscribe to it.
            let users = stride(from: number, to: connections, by: conversations)
            try api.create("bench-\(number)", participants: users.map { "user-\($0)" })
        }
        let swarm = try Swarm(port: gateway.port)
        let before = try gateway.figures().residentBytes
        let slabs = KernelMemory.slabBytes()
        var trial = Trial()

        var meter = try UsageMeter(gateway)
        let all = try swarm.open(connections)
        let upgrade = try meter.read()
        let upgraded = try gateway.figures().residentBytes

        meter = try UsageMeter(gateway)
        try swarm.connect(all) { "user-\($0)" }
        try swarm.ask(all) { client in
            Request.subscribe(
                id: 2, conversation: "bench-\(client.index % conversations)", limit: 1)
        }
        let subscribe = try meter.read()
        let after = try gateway.figures().residentBytes

        let count = Double(connections)
        trial.add("residentEmpty", Double(before), "B")
        trial.add("residentConnected", Double(after), "B")
        trial.add("bytesPerUpgraded", Double(upgraded - before) / count, "B")
        trial.add("bytesPerConnection", Double(after - before) / count, "B")
        if let slabs, let now = KernelMemory.slabBytes() {
            trial.add("kernelBytesPerConnection", Double(now - slabs) / count, "B")
        }
        trial.add("upgradeCPU", upgrade.gatewaySeconds, "s")
        trial.add("upgradeTime", upgrade.wallSeconds, "s")
        trial.add("subscribeCPU", subscribe.gatewaySeconds, "s")
        trial.add("subscribeTime", subscribe.wallSeconds, "s")
        trial.faults = try gateway.faults()
        if try gateway.metric("gapless_subscriptions") != connections {
            trial.faults.append("the gateway counts other than \(connections) subscriptions")
        }
        return trial
    }
}
