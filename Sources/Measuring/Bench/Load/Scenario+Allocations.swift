/// `allocations`: the memory allocations per message and per delivery, by a gateway that counts
/// them (`gapless-counted`). One message is in flight at a time, and the counter is read in
/// between; the median excludes what timers allocate.
extension Scenario {
    package static let allocations = Scenario(
        name: "allocations", summary: "how often memory is asked for, by gapless-counted",
        options: [
            .init(name: "few", value: "N", help: "subscribers at first (10)"),
            .init(name: "many", value: "N", help: "subscribers then (110)"),
            .init(name: "messages", value: "N", help: "with each of them (200)"),
        ]
    ) { options throws(BenchError) in
        let few = try options.int("few", default: 10, in: 1...10_000)
        let many = try options.int("many", default: 110, in: 2...10_000)
        let messages = try options.int("messages", default: 200, in: 10...100_000)
        guard few < many else { throw .usage("--many: \(many) is not more than --few: \(few)") }
        return [
            Case(
                name: "\(few) and \(many) subscribers",
                parameters: [("few", few), ("many", many), ("messages", messages)]
            ) { gateway throws(BenchError) in
                let run = try AllocationRun(gateway, subscribers: many)
                let low = try run.median(with: few, messages: messages)
                let high = try run.median(with: many, messages: messages)
                let delivery = (high - low) / Double(many - few)
                var trial = Trial()
                trial.add("perDelivery", delivery, "")
                trial.add("perMessage", low - delivery * Double(few), "")
                trial.faults = try gateway.faults()
                return trial
            }
        ]
    }
}

/// Sends one message after another, each when all clients have the previous one.
final class AllocationRun: FrameReceiver {
    private static let conversation = "bench"
    private let gateway: GatewayProcess
    private let swarm: Swarm
    private var sent = 0
    /// Frames of the current message that are still missing.
    private var lacking = 0

    /// Client 0 sends, the others subscribe.
    init(_ gateway: GatewayProcess, subscribers: Int) throws(BenchError) {
        self.gateway = gateway
        let users = (0...subscribers).map { "user-\($0)" }
        try gateway.api().create(Self.conversation, participants: users)
        swarm = try Swarm(port: gateway.port)
        try swarm.connect(try swarm.open(1)) { _ in users[0] }
    }

    /// The allocations for one message with `count` subscribers: the median of many.
    /// - Throws: `BenchError.failure`
    func median(with count: Int, messages: Int) throws(BenchError) -> Double {
        let more = try swarm.open(count + 1 - swarm.clients.count)
        try swarm.connect(more) { "user-\($0)" }
        try swarm.ask(more) { _ in
            Request.subscribe(id: 2, conversation: Self.conversation, limit: 1)
        }
        // Growing tables allocate at first.
        for _ in 0..<Self.warmUp { try send() }
        var numbers: [Double] = []
        var before = try gateway.allocations()
        for _ in 0..<messages {
            try send()
            let now = try gateway.allocations()
            numbers.append(Double(now - before))
            before = now
        }
        return numbers.median
    }

    private static let warmUp = 100

    private func send() throws(BenchError) {
        sent += 1
        lacking = swarm.clients.count
        let request = Request.sendMessage(
            id: sent + 10, conversation: Self.conversation, message: "message-\(sent)",
            body: String(repeating: "x", count: 40))
        try swarm.send(request, to: swarm.clients[0])
        let deadline = Clock.now() + Swarm.patience
        while lacking > 0 {
            try swarm.turn(for: self, until: deadline)
            guard swarm.now < deadline, Clock.now() < deadline else {
                throw .failure("sending one message: \(lacking) clients lack it after two minutes")
            }
        }
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        // The sender gets an answer, the others an event.
        if client.index == 0, try Reply(payload) == nil { return }
        lacking -= 1
    }
}
