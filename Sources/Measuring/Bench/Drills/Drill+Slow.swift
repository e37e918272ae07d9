/// `slow`: some clients read next to nothing while the others get everything. Two conversations
/// alternate: the fast clients subscribe to both, the slow ones only to the second, so that the two
/// halves of a pair differ in nothing else.
extension Drill {
    static let slow = Drill(
        name: "slow", summary: "readers that hardly read, beside fast ones",
        scale: [
            Scale(name: "clients", value: 1000, range: 1...100_000, help: "who read all at once"),
            Scale(name: "stalled", value: 200, range: 1...10_000, help: "who hardly read"),
            Scale(name: "seconds", value: 60, range: 1...3600, help: "with the stalled ones"),
            Scale(name: "rate", value: 100, range: 1...180, help: "messages a second"),
            Scale(name: "slice", value: 2000, range: 100...600_000, help: "of a turn, in ms"),
            Scale(name: "body", value: 200, range: 1...16_384, help: "bytes of a message's text"),
            Scale(
                name: "soft-limit", value: 256, range: 1...1_048_576,
                help: "limits.outbox_soft of the gateway, in KiB"),
        ]
    ) { site, plan, report throws(BenchError) in
        let run = try SlowRun(site, plan)
        try run.listen()
        plan.say("\(plan["clients"]) clients read, \(plan["stalled"]) hardly do")
        let meter = BusyMeter()
        try run.publish()
        let busy = meter.read()
        try run.makeWhole()
        run.report(&report)
        let crowd = run.crowd
        try report.close(crowd.ledger, crowd.account(), busy: busy, site)
        try crowd.leave(site)
    }
}

/// The run of the drill.
private final class SlowRun {
    let crowd: Crowd
    private let site: Site
    private let plan: Drill.Plan
    /// The latencies of deliveries to the fast clients, by turn.
    private var without: [Histogram] = []
    private var with: [Histogram] = []
    private var memory = (before: 0, most: 0)
    private var number = 0
    private var healing: Nanoseconds = 0

    private static let held = 100
    /// How often a stalled reader takes a little: it is slow, not gone.
    private static let sip = 5 * Clock.second
    /// Every so many messages, one that all clients hold is edited instead.
    private static let edits = 10

    init(_ site: Site, _ plan: Drill.Plan) throws(BenchError) {
        self.site = site
        self.plan = plan
        let fast = [[Int]](repeating: [0, 1], count: plan["clients"])
        let people = fast + [[Int]](repeating: [1], count: plan["stalled"])
        crowd = try Crowd.gather(
            at: site, rooms: 2, members: people, held: Self.held, body: plan["body"])
        for index in plan["clients"]..<people.count { crowd.stall(index) }
    }

    private var stalled: Range<Int> { plan["clients"]..<crowd.members.count }

    func listen() throws(BenchError) {
        try crowd.addAuthor()
        try crowd.dialAll(width: 256)
        crowd.tell = { [unowned self] news throws(BenchError) in
            guard case .step(let room, let due) = news else { return }
            try send(to: crowd.rooms[room], due: due)
        }
        // Warm-up: the cost of the first messages is not that of the slow clients.
        try turn(room: 0)
        without = []
        for index in stalled {
            try crowd.swarm.setReading(false, crowd.swarm.clients[index])
            crowd.schedule(
                .sip(index, every: Self.sip), at: Clock.now() + crowd.some(below: Self.sip))
        }
    }

    func publish() throws(BenchError) {
        memory.before = try site.operations.residentBytes()
        let pairs = max(1, plan["seconds"] * Clock.second / plan.milliseconds("slice"))
        for pair in 0..<pairs {
            // The order within a pair alternates.
            for room in pair % 2 == 0 ? [0, 1] : [1, 0] { try turn(room: room) }
            plan.say("pair \(pair + 1) of \(pairs)")
        }
    }

    /// One turn of a conversation.
    private func turn(room: Int) throws(BenchError) {
        let span = plan.milliseconds("slice")
        let start = Clock.now() + 10 * Clock.millisecond
        let count = span * plan["rate"] / Clock.second
        for number in 0..<count {
            crowd.schedule(.step(room), at: start + number * Clock.second / plan["rate"])
        }
        crowd.isCounting = { [plan] in $0 < plan["clients"] }
        _ = crowd.ledger.takeLiveLatency()
        try crowd.run(until: start + span)
        // Waits for what is in flight, so that it does not fall into the next turn.
        try crowd.run(until: Clock.now() + 5 * Clock.second) { [plan] in
            crowd.unanswered == 0 && crowd.isWhole(0..<plan["clients"])
        }
        let latencies = crowd.ledger.takeLiveLatency()
        if room == 0 { without.append(latencies) } else { with.append(latencies) }
        memory.most = max(memory.most, try site.operations.residentBytes())
    }

    private func send(to room: Room, due: Nanoseconds) throws(BenchError) {
        number += 1
        if number % Self.edits == 0 {
            try crowd.edit(1 + crowd.some(below: Self.held), of: room, due: due)
        } else {
            try crowd.publish(room, due: due)
        }
    }

    /// The stalled clients resume reading, and fetch their gaps.
    func makeWhole() throws(BenchError) {
        crowd.agenda.removeAll()
        let start = Clock.now()
        for index in stalled { try crowd.swarm.setReading(true, crowd.swarm.clients[index]) }
        try crowd.run(until: start + 120 * Clock.second) { crowd.isEverybodyWhole }
        healing = Clock.now() - start
    }

    func report(_ report: inout DrillReport) {
        let ratios = zip(with, without).map { with, without in
            Double(with.quantile(0.99)) / Double(max(1, without.quantile(0.99)))
        }.sorted()
        let middle = ratios.count / 2
        let median =
            ratios.count % 2 == 1 ? ratios[middle] : (ratios[middle - 1] + ratios[middle]) / 2
        for (name, turns) in [("without", without), ("with", with)] {
            let p99 = turns.map { DrillReport.milliseconds($0.quantile(0.99)) }.sorted()
            report.add("\(name)StalledP50", Self.median(turns, 0.5), "ms")
            report.add("\(name)StalledP99", Self.median(turns, 0.99), "ms")
            report.add("\(name)StalledP99Least", p99.first ?? 0, "ms")
            report.add("\(name)StalledP99Most", p99.last ?? 0, "ms")
        }
        report.add("pairs", ratios.count)
        report.add("ratioMedian", median)
        report.add("ratioLeast", ratios.first ?? 0)
        report.add("ratioMost", ratios.last ?? 0)
        report.add("healing", Clock.seconds(healing), "s")
        let growth = Double(memory.most - memory.before) / 1_048_576
        let bound = Double(plan["stalled"] * (plan["soft-limit"] + 64)) / 1024
        report.add("memoryBefore", Double(memory.before) / 1_048_576, "MiB")
        report.require("memory growth", growth, below: bound, "MiB")
        report.require(
            "the fast ones' p99 with stalled ones to without, median", median <= 1.15,
            seen: "\(DrillReport.words(median))", bar: "at most 1.15")
        let unmet = stalled.count { crowd.members[$0].declaredCount == 0 }
        report.require("sockets that were closed", none: crowd.ledger.ends)
        report.require("stalled readers that never met their limit", none: unmet)
        report.require("resets", none: crowd.ledger.resets)
    }

    private static func median(_ turns: [Histogram], _ part: Double) -> Double {
        let sorted = turns.map { DrillReport.milliseconds($0.quantile(part)) }.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
}
