import Dispatch
import JSON
import Synchronization

/// `worst`: clients within all limits look for the most expensive requests, different ones for each
/// seed; beside them others chat. Slices with the greedy clients and without them alternate.
extension Drill {
    static let worst = Drill(
        name: "worst", summary: "clients within all limits who ask for what costs most",
        scale: [
            Scale(name: "clients", value: 100, range: 10...10_000, help: "who chat"),
            Scale(name: "rate", value: 200, range: 1...10_000, help: "messages a second of them"),
            Scale(name: "seed", value: 1, range: 1...1_000_000, help: "the first one"),
            Scale(name: "seeds", value: 1, range: 1...10_000, help: "how many"),
            Scale(name: "pairs", value: 3, range: 1...100, help: "of slices, for each seed"),
            Scale(name: "slice", value: 1667, range: 100...600_000, help: "in ms"),
            Scale(
                name: "ratio", value: 200, range: 100...1_000_000,
                help: "to which the p99 of those who chat may rise, in %"),
            Scale(name: "grace", value: 10, range: 0...10_000, help: "and by how many ms beyond"),
            Scale(
                name: "memory", value: 512, range: 1...1_048_576,
                help: "by which the gateway may grow, in MiB"),
        ]
    ) { site, plan, report throws(BenchError) in
        let run = try WorstRun(site, plan)
        try run.run()
        try run.report(&report)
        try run.leave()
    }
}

/// The run of the drill.
private final class WorstRun {
    /// The result of one seed.
    private struct Finding {
        /// In milliseconds, the medians over the pairs: p50 and p99, without and with the greedy
        /// clients.
        var deliveries = Medians()
        var answers = Medians()
        var toll = Greedy.Toll()
    }

    struct Medians {
        var without = (p50: 0.0, p99: 0.0)
        var with = (p50: 0.0, p99: 0.0)
        /// How far the p99 with them exceeds the allowed value, in the median of the pairs.
        var excess = -Double.infinity

        init() {}

        init(_ pairs: [(without: Histogram, with: Histogram)], ratio: Double, grace: Double) {
            func median(_ value: ((without: Histogram, with: Histogram)) -> Double) -> Double {
                let sorted = pairs.map(value).sorted()
                return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
            }
            func milliseconds(_ histogram: Histogram, _ part: Double) -> Double {
                DrillReport.milliseconds(histogram.quantile(part))
            }
            without = (
                median { milliseconds($0.without, 0.5) }, median { milliseconds($0.without, 0.99) }
            )
            with = (median { milliseconds($0.with, 0.5) }, median { milliseconds($0.with, 0.99) })
            excess = median {
                milliseconds($0.with, 0.99) - ratio * milliseconds($0.without, 0.99) - grace
            }
        }

        var text: String {
            let words = [without.p50, with.p50, without.p99, with.p99].map(DrillReport.words)
            return "p50 \(words[0]) → \(words[1]) ms, p99 \(words[2]) → \(words[3]) ms"
        }
    }

    private let site: Site
    private let plan: Drill.Plan
    private let larder: Larder
    private let bystanders: Bystanders
    private var memory = (before: 0, most: 0)
    private var found: [Int] = []
    private var once: [Int] = []
    private var worst = (seed: 0, excess: -Double.infinity)
    private var toll = Greedy.Toll()

    init(_ site: Site, _ plan: Drill.Plan) throws(BenchError) {
        self.site = site
        self.plan = plan
        let prefix = "worst-\(UInt32.random(in: 0...UInt32.max))-"
        larder = try Larder(prefix, try site.api())
        bystanders = try Bystanders(plan["clients"], prefix, site)
    }

    func run() throws(BenchError) {
        plan.say("\(plan["clients"]) clients chat")
        // Warm-up: the cost of the first messages is not that of the greedy clients.
        _ = try bystanders.chat(for: Clock.second, rate: plan["rate"], look)
        memory = (try site.operations.residentBytes(), 0)
        for seed in plan["seed"]..<(plan["seed"] + plan["seeds"]) {
            guard try hold(seed) else { continue }
            // A result that does not repeat was noise of the machine.
            plan.say("seed \(seed) again")
            if try hold(seed) { found.append(seed) } else { once.append(seed) }
            guard bystanders.ends.isEmpty else { return }
        }
    }

    /// - Returns: whether the seed slows the others down too much.
    private func hold(_ seed: Int) throws(BenchError) -> Bool {
        let appetite = Appetite(seed: seed)
        var finding = Finding()
        var pairs: [(without: Bystanders.Latencies, with: Bystanders.Latencies)] = []
        for number in 0..<plan["pairs"] {
            // The order within a pair alternates.
            let isFirst = number % 2 == 1
            let early = try slice(isFirst ? appetite : nil, &finding.toll)
            let late = try slice(isFirst ? nil : appetite, &finding.toll)
            pairs.append(isFirst ? (late, early) : (early, late))
        }
        let (ratio, grace) = (Double(plan["ratio"]) / 100, Double(plan["grace"]))
        finding.deliveries = Medians(
            pairs.map { ($0.without.deliveries, $0.with.deliveries) }, ratio: ratio, grace: grace)
        finding.answers = Medians(
            pairs.map { ($0.without.answers, $0.with.answers) }, ratio: ratio, grace: grace)
        toll += finding.toll
        let excess = max(finding.deliveries.excess, finding.answers.excess)
        if excess > worst.excess { worst = (seed, excess) }
        plan.say(
            "seed \(seed)\(excess > 0 ? " FINDS" : ""): \(appetite.text)\n"
                + "    deliveries \(finding.deliveries.text); answers \(finding.answers.text);"
                + " \(memory.most >> 20) MiB\n    \(finding.toll.text)")
        return excess > 0
    }

    /// A slice of chat, with or without the greedy clients beside it.
    private func slice(
        _ appetite: Appetite?, _ toll: inout Greedy.Toll
    ) throws(BenchError) -> Bystanders.Latencies {
        let span = plan.milliseconds("slice")
        let feast = appetite.map { Feast($0, larder, at: site.endpoint, until: Clock.now() + span) }
        let latencies = try bystanders.chat(for: span, rate: plan["rate"], look)
        if let feast {
            while !feast.isOver {
                try Interruption.check()
                _ = try bystanders.chat(for: 50 * Clock.millisecond, rate: 20) {}
            }
            toll += try feast.toll()
        }
        // Waits for what is in flight, so that it does not fall into the next slice.
        _ = try bystanders.chat(for: 300 * Clock.millisecond, rate: 20, look)
        return latencies
    }

    private func look() { memory.most = max(memory.most, site.residentBytes ?? 0) }

    func report(_ report: inout DrillReport) throws(BenchError) {
        report.add("results", toll.results)
        report.add("limited", toll.limited)
        report.add("closed", toll.closes.values.reduce(0, +))
        report.add("worstSeed", worst.seed)
        report.add("worstExcess", worst.excess, "ms")
        report.add("memoryBefore", Double(memory.before) / 1_048_576, "MiB")
        memory.most = max(memory.most, try site.operations.residentBytes())
        let growth = Double(memory.most - memory.before) / 1_048_576
        func names(_ seeds: [Int]) -> String {
            seeds.isEmpty ? "none" : seeds.map(String.init).joined(separator: " ")
        }
        if !once.isEmpty { plan.say("found once, and not again: seeds \(names(once))") }
        let (ratio, grace) = (plan["ratio"], plan["grace"])
        report.require(
            "seeds that slow those who chat, twice", found.isEmpty, seen: names(found),
            bar: "none: p99 at most \(ratio) % and \(grace) ms")
        report.require("memory growth", growth, below: Double(plan["memory"]), "MiB")
        report.require("those who chat and were closed", none: bystanders.ends.count)
        report.require("refused to those who chat", none: bystanders.refused.values.reduce(0, +))
        report.require("messages that did not come", none: bystanders.undelivered)
        let own = try site.operations.faults()
        report.require(
            "the gateway by its own account", own.isEmpty,
            seen: own.isEmpty ? "well" : own.joined(separator: ", "), bar: "well")
    }

    func leave() throws(BenchError) {
        let api = try site.api()
        try bystanders.leave(api)
        try larder.clear(api)
        // Most of them are deleted already.
        for name in toll.made { try? api.delete(name) }
    }
}

/// The greedy clients of one slice, on their own thread.
private final class Feast: Sendable {
    private let outcome = Mutex<Result<Greedy.Toll, BenchError>?>(nil)

    init(_ appetite: Appetite, _ larder: Larder, at endpoint: Endpoint, until end: Nanoseconds) {
        DispatchQueue(label: "gapless.bench.greedy").async { [self] in
            Machine.standBack()
            let result: Result<Greedy.Toll, BenchError>
            do throws(BenchError) {
                result = .success(try Greedy(appetite, larder, at: endpoint).run(until: end))
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
    }

    var isOver: Bool { outcome.withLock { $0 != nil } }

    /// Their result; may be called only when the slice is over.
    /// - Throws: `BenchError.failure` if the slice failed.
    func toll() throws(BenchError) -> Greedy.Toll {
        guard let result = outcome.withLock(\.self) else {
            throw .failure("asking for much: no end of it")
        }
        return try result.get()
    }
}
