import JSON

/// `flood`: some clients behave, and are measured; others flood the gateway, one kind of flood
/// after another. Slices with a flood and without one alternate.
extension Drill {
    static let flood = Drill(
        name: "flood", summary: "clients that ask too much, beside some that behave",
        scale: [
            Scale(name: "clients", value: 200, range: 1...10_000, help: "who behave"),
            Scale(name: "rate", value: 100, range: 1...180, help: "messages a second to them"),
            Scale(name: "pairs", value: 3, range: 1...100, help: "of slices, for each flood"),
            Scale(name: "slice", value: 4000, range: 100...600_000, help: "of requests, in ms"),
            Scale(
                name: "half-open", value: 5000, range: 1...9000, help: "connections, of each kind"),
            Scale(
                name: "timeout", value: 10, range: 1...600,
                help: "limits.connect_timeout of the gateway, in s"),
            Scale(name: "connects", value: 2000, range: 1...10_000, help: "connections a second"),
            Scale(name: "seconds", value: 10, range: 1...600, help: "of connecting"),
            Scale(
                name: "connection-limit", value: 20_000, range: 1...1_000_000,
                help: "limits.connections of the gateway"),
            Scale(name: "resumers", value: 10, range: 1...1000, help: "who resume with 1,000 runs"),
            Scale(
                name: "ratio", value: 200, range: 100...1_000_000,
                help: "to which the p99 of those who behave may rise, in %"),
            Scale(
                name: "memory", value: 256, range: 1...1_048_576,
                help: "by which the gateway may grow, in MiB"),
        ]
    ) { site, plan, report throws(BenchError) in
        let run = try FloodRun(site, plan)
        try run.listen()
        let meter = BusyMeter()
        try run.compare()
        let busy = meter.read()
        run.report(&report)
        let crowd = run.crowd
        try report.close(crowd.ledger, crowd.account(), busy: busy, site)
        try crowd.leave(site)
        try site.api().delete(run.scene.conversation)
    }
}

/// The run of the drill.
private final class FloodRun {
    let crowd: Crowd
    let scene: Flood.Scene
    private let site: Site
    private let plan: Drill.Plan
    private var pairs: [Flood: [(without: Histogram, with: Histogram)]] = [:]
    private var tolls: [Flood: Flood.Toll] = [:]
    private var memory = (before: 0, most: 0)

    /// How often the memory is sampled.
    private static let look = 100 * Clock.millisecond
    /// The number of a step that samples memory instead of sending a message.
    private static let looking = -1

    init(_ site: Site, _ plan: Drill.Plan) throws(BenchError) {
        self.site = site
        self.plan = plan
        crowd = try Crowd.gather(
            at: site, rooms: 1, members: Array(repeating: [0], count: plan["clients"]), held: 0,
            body: 40)
        let api = try site.api()
        let name = "\(crowd.rooms[0].name)-flooded"
        try api.create(name, participants: [Flood.Scene.user(0)])
        try api.post(2 * Flood.Scene.runs, to: name, body: "forty bytes of text in each message")
        let head = try api.head(of: name)
        scene = Flood.Scene(
            endpoint: site.endpoint, plan: plan, conversation: name, head: head.bytes,
            rev: head.object?["rev"]?.int ?? 0)
    }

    func listen() throws(BenchError) {
        try crowd.addAuthor()
        try crowd.dialAll(width: 256)
        crowd.tell = { [unowned self] news throws(BenchError) in
            guard case .step(let number, let due) = news else { return }
            guard number == Self.looking else { return try crowd.publish(crowd.rooms[0], due: due) }
            try look()
        }
        plan.say("\(plan["clients"]) clients listen")
        // Warm-up: the cost of the first messages is not that of a flood.
        _ = try slice(Clock.second, nil)
        memory.before = try site.operations.residentBytes()
    }

    func compare() throws(BenchError) {
        for flood in Flood.allCases {
            for number in 0..<plan["pairs"] {
                let span = flood.span(plan)
                // The order within a pair alternates.
                let isFirst = number % 2 == 1
                let early = try slice(span, isFirst ? flood : nil)
                let late = try slice(span, isFirst ? nil : flood)
                let pair = isFirst ? (late, early) : (early, late)
                pairs[flood, default: []].append(pair)
                plan.say("\(flood.rawValue): pair \(number + 1) of \(plan["pairs"])")
            }
        }
    }

    /// Messages at a fixed rate, with or without a flood beside them.
    private func slice(_ span: Nanoseconds, _ flood: Flood?) throws(BenchError) -> Histogram {
        let start = Clock.now() + 10 * Clock.millisecond
        for number in 0..<(span * plan["rate"] / Clock.second) {
            crowd.schedule(.step(number), at: start + number * Clock.second / plan["rate"])
        }
        if site.isOwned {
            for number in 0..<(span / Self.look) {
                crowd.schedule(.step(Self.looking), at: start + number * Self.look)
            }
        }
        _ = crowd.ledger.takeLiveLatency()
        let siege = flood.map { Siege($0, scene, until: start + span) }
        try crowd.run(until: start + span)
        // Waits for what is in flight, so that it does not fall into the next slice.
        try crowd.run(until: Clock.now() + 30 * Clock.second) {
            siege?.isOver != false && crowd.unanswered == 0 && crowd.isEverybodyWhole
        }
        if let flood, let siege { tolls[flood, default: Flood.Toll()] += try siege.toll() }
        let latencies = crowd.ledger.takeLiveLatency()
        memory.most = max(memory.most, try site.operations.residentBytes())
        try crowd.run(until: Clock.now() + Clock.second)
        return latencies
    }

    private func look() throws(BenchError) {
        memory.most = max(memory.most, site.residentBytes ?? 0)
    }

    func report(_ report: inout DrillReport) {
        for flood in Flood.allCases {
            let pairs = pairs[flood] ?? []
            let ratios = pairs.map {
                Double($0.with.quantile(0.99)) / Double(max(1, $0.without.quantile(0.99)))
            }.sorted()
            let median = Self.median(ratios)
            let name = flood.rawValue
            for (half, slices) in [("", pairs.map(\.with)), ("Without", pairs.map(\.without))] {
                for (suffix, part) in [("P50", 0.5), ("P99", 0.99)] {
                    let values = slices.map { DrillReport.milliseconds($0.quantile(part)) }
                    report.add(name + half + suffix, Self.median(values.sorted()), "ms")
                }
            }
            report.add("\(name)RatioLeast", ratios.first ?? 0)
            report.add("\(name)RatioMost", ratios.last ?? 0)
            let bar = Double(plan["ratio"]) / 100
            report.require(
                "\(name): the others' p99 with it to without, median", median <= bar,
                seen: DrillReport.words(median), bar: "at most \(DrillReport.words(bar))")
            flood.judge(tolls[flood] ?? Flood.Toll(), pairs: pairs.count, plan, &report)
        }
        let growth = Double(memory.most - memory.before) / 1_048_576
        report.add("memoryBefore", Double(memory.before) / 1_048_576, "MiB")
        report.require("memory growth", growth, below: Double(plan["memory"]), "MiB")
        report.require("resets", none: crowd.ledger.resets)
    }

    private static func median(_ sorted: [Double]) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
