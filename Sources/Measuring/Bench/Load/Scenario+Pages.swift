import JSON

/// `pages`: whether history costs the same wherever it is read. Walks a long conversation once from
/// its end to its beginning and counts each message; then reads stretches of it repeatedly at three
/// places, one request at a time.
extension Scenario {
    static let pages = Scenario(
        name: "pages", summary: "cost of a page at both ends of a long conversation",
        options: PagesPlan.options
    ) { options throws(BenchError) in
        let plan = try PagesPlan(options)
        return [
            Case(name: plan.name, parameters: plan.parameters) { gateway throws(BenchError) in
                let swarm = try Swarm(port: gateway.port)
                let api = try gateway.api()
                try api.create("bench", participants: ["reader"])
                try api.post(plan.messages, to: "bench", body: plan.body)
                return try trial(plan, PageReader(swarm, limit: plan.limit), gateway)
            }
        ]
    }

    private static func trial(
        _ plan: PagesPlan, _ reader: PageReader, _ gateway: GatewayProcess
    ) throws(BenchError) -> Trial {
        let (messages, limit, stretch) = (plan.messages, plan.limit, plan.stretch)
        var trial = Trial()
        let walk = try reader.walk(from: messages + 1, pages: (messages + limit - 1) / limit)
        trial.add("walkTime", Clock.seconds(walk.time), "s")
        if walk.messages != messages {
            trial.faults.append("\(walk.messages) messages walked of \(messages)")
        }
        let span = stretch * limit
        let places = [
            ("newest", messages + 1), ("middle", (messages + span) / 2 + 1), ("oldest", span + 1),
        ]
        var latencies = [Histogram](repeating: Histogram(), count: places.count)
        var seconds = [Double](repeating: 0, count: places.count)
        // Interleaved, so that the machine's other load affects all places alike.
        for _ in 0..<plan.rounds {
            for (index, place) in places.enumerated() {
                swap(&reader.latencies, &latencies[index])
                let meter = try UsageMeter(gateway)
                _ = try reader.walk(from: place.1, pages: stretch)
                seconds[index] += try meter.read().gatewaySeconds
                swap(&reader.latencies, &latencies[index])
            }
        }
        for (index, place) in places.enumerated() {
            let cost = seconds[index] * 1e6 / Double(plan.rounds * stretch)
            trial.add("\(place.0)CPUPerPage", cost, "µs")
            trial.add(latencies: latencies[index], place.0)
        }
        let medians = latencies.map { Double($0.quantile(0.5)) }
        trial.add("oldestToNewestCPU", seconds[2] / seconds[0], "")
        trial.add("oldestToNewestP50", medians[2] / medians[0], "")
        trial.faults += try gateway.faults()
        return trial
    }
}

/// The one client that reads pages, each after the previous one has come.
private final class PageReader: FrameReceiver {
    private let swarm: Swarm
    private let limit: Int
    private var request = 10
    private var answer: [UInt8]?
    var latencies = Histogram()

    init(_ swarm: Swarm, limit: Int) throws(BenchError) {
        self.swarm = swarm
        self.limit = limit
        let all = try swarm.open(1)
        try swarm.connect(all) { _ in "reader" }
    }

    /// Reads pages backwards, each before the oldest message of the previous one.
    /// - Returns: the number of messages, and the time of the requests alone.
    /// - Throws: `BenchError.failure`, also for messages that are not consecutive.
    func walk(
        from start: Int, pages: Int
    ) throws(BenchError) -> (messages: Int, time: Nanoseconds) {
        var before = start
        var time = 0
        for _ in 0..<pages {
            let (page, span) = try read(before: before)
            time += span
            let seqs = (try? JSONObject(page))?["result"]?.object?["messages"]?.array?
                .compactMap { $0.object?["seq"]?.int }
            guard let seqs, seqs == Array(((before - seqs.count)..<before).reversed()) else {
                throw .failure("reading the page before \(before): not the messages below it")
            }
            before -= seqs.count
        }
        return (start - before, time)
    }

    private func read(before: Int) throws(BenchError) -> ([UInt8], Nanoseconds) {
        request += 1
        answer = nil
        let bytes = Request.fetchMessages(
            id: request, conversation: "bench", before: before, limit: limit)
        let start = Clock.now()
        try swarm.send(bytes, to: swarm.clients[0])
        let deadline = start + Swarm.patience
        while swarm.now < deadline {
            try swarm.turn(for: self, until: deadline)
            guard let answer else { continue }
            let span = swarm.now - start
            latencies.record(span)
            return (answer, span)
        }
        throw .failure("reading the page before \(before): no answer in time")
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        guard let reply = try Reply(payload), reply.isFinal, reply.id == request else { return }
        answer = Bytes.copy(payload)
    }
}
