/// `drain`: the gateway gets the signal to stop during a stream of messages, and the same command
/// is started again beside it. Each client leaves in its slot and resumes at a successor, which may
/// have to wait for the file.
extension Drill {
    static let drain = Drill(
        name: "drain", summary: "an orderly end, and a successor, under thousands of clients",
        scale: [
            Scale(name: "clients", value: 2000, range: 1...100_000, help: "who are connected"),
            Scale(name: "rooms", value: 20, range: 2...10_000, help: "conversations"),
            Scale(name: "held", value: 20, range: 1...900, help: "messages of each"),
            Scale(name: "rate", value: 50, range: 1...180, help: "messages a second, throughout"),
            Scale(
                name: "window", value: 10, range: 1...3600,
                help: "drain.window of the gateway, in s"),
            Scale(
                name: "deadline", value: 30, range: 1...3600,
                help: "drain.deadline of the gateway, in s"),
        ],
        restarts: true
    ) { site, plan, report throws(BenchError) in
        let run = try DrainRun(site, plan)
        try run.listen()
        let meter = BusyMeter()
        try run.relieve()
        let busy = meter.read()
        run.report(&report)
        let crowd = run.crowd
        try report.close(crowd.ledger, crowd.account(), busy: busy, site)
        try crowd.leave(site)
    }
}

/// One handover. Times count from the signal.
private final class DrainRun {
    let crowd: Crowd
    private let site: Site
    private let plan: Drill.Plan
    private var start: Nanoseconds = 0
    private var isPublishing = true
    private var sent = 0
    /// By client, the slot that it was given.
    private var slots: [Int: Nanoseconds] = [:]
    private var toldTwice = 0
    /// All attempts to connect, answered by either gateway; and by client the latest.
    private var tries: [Nanoseconds] = []
    private var lastTry: [Nanoseconds]
    /// The attempts that the successor answered: the gateway that drains refuses all.
    private var arrivals: [Nanoseconds] = []
    private var unready: Nanoseconds = 0
    private var connectedWhenUnready = 0
    private var end: (status: Int32, moment: Nanoseconds)?

    /// How long the stream runs before the signal, and after all clients are back.
    private static let margin = 2 * Clock.second
    /// The share of all clients, in percent, that may fall into one tenth of a second.
    private static let crush = 5.0

    init(_ site: Site, _ plan: Drill.Plan) throws(BenchError) {
        self.site = site
        self.plan = plan
        let rooms = plan["rooms"]
        let members = (0..<plan["clients"]).map { [$0 % rooms, ($0 + 1) % rooms] }
        crowd = try Crowd.gather(
            at: site, rooms: rooms, members: members, held: plan["held"], body: 40)
        lastTry = Array(repeating: 0, count: members.count)
    }

    /// Connects everybody, the author last, so that its goaway is the last one too.
    func listen() throws(BenchError) {
        try crowd.dialAll(width: 256)
        crowd.tell = { [unowned self] news throws(BenchError) in try note(news) }
        try crowd.addAuthor()
        try crowd.run(until: Clock.now() + 10 * Clock.second) { crowd.isAuthorBack }
        plan.say("\(plan["clients"]) clients are connected")
        crowd.schedule(.step(0), at: Clock.now())
        try crowd.run(until: Clock.now() + Self.margin)
        crowd.ledger.resumeLatency = Histogram()
        crowd.isComingBack = true
    }

    private func note(_ news: Crowd.News) throws(BenchError) {
        switch news {
        case .step(_, let due):
            guard isPublishing else { return }
            crowd.schedule(.step(0), at: due + Clock.second / plan["rate"])
            // Nothing is written while the author is away.
            guard crowd.isAuthorBack else { return }
            sent += 1
            try crowd.publish(crowd.rooms[sent % crowd.rooms.count], due: due)
        case .goaway(let index, let slot):
            if slots.updateValue(slot - start, forKey: index) != nil { toldTwice += 1 }
        case .dialling(let index):
            lastTry[index] = Clock.now() - start
            tries.append(lastTry[index])
        case .opened(let index): arrivals.append(lastTry[index])
        case .back, .authorBack: break
        }
    }

    /// Sends the signal, and waits for everything that follows.
    func relieve() throws(BenchError) {
        (tries, arrivals) = ([], [])
        start = Clock.now()
        try site.relieve()
        unready = Clock.now() - start
        connectedWhenUnready = crowd.backCount
        let deadline = start + (plan["window"] + plan["deadline"] + 60) * Clock.second
        try crowd.run(until: deadline) { [self] in
            if end == nil, let status = site.predecessorStatus() {
                end = (status, Clock.now() - start)
            }
            return end != nil && crowd.backCount == crowd.members.count && crowd.isAuthorBack
        }
        try crowd.run(until: Clock.now() + Self.margin)
        isPublishing = false
        try crowd.run(until: Clock.now() + 30 * Clock.second) {
            crowd.unanswered == 0 && crowd.isEverybodyWhole
        }
        crowd.tell = { _ in }
    }

    func report(_ report: inout DrillReport) {
        let clients = plan["clients"]
        report.add("sent", sent)
        report.add("unready", DrillReport.milliseconds(unready), "ms")
        report.add("lastSlot", Clock.seconds(slots.values.max() ?? 0), "s")
        report.add("tries", tries.count)
        report.add("triesCrush", share(tries), "%")
        report.add("away", crowd.ledger.resumeLatency)
        report.add("replay", crowd.ledger.replayLatency)
        report.require(
            "readiness fails before anybody is sent away", connectedWhenUnready == clients,
            seen: "\(connectedWhenUnready) connected then", bar: "\(clients)")
        report.require(
            "clients that were told their slot", slots.count == clients, seen: "\(slots.count)",
            bar: "\(clients)")
        report.require("clients that were told twice", none: toldTwice)
        let last = Clock.seconds(slots.values.max() ?? 0)
        // If only one process can hold the file, the slots begin after this process has ended:
        // after a fifth of the window, plus a second in which the next process starts.
        report.require(
            "the last slot", last, below: 1.2 * Double(plan["window"]) + 2.5, "s")
        report.require("tries that met a closed door", none: tries.count - arrivals.count)
        report.require(
            "slots in one tenth of a second", share(Array(slots.values)), below: Self.crush, "%")
        report.require(
            "arrivals at the successor in one tenth of a second", share(arrivals),
            below: Self.crush, "%")
        report.require(
            "clients that are back", crowd.backCount == clients, seen: "\(crowd.backCount)",
            bar: "\(clients)")
        report.require("resets", none: crowd.ledger.resets)
        report.require(
            "the exit code", end?.status == 0, seen: end.map { "\($0.status)" } ?? "none", bar: "0")
        report.require(
            "the end, after the signal",
            end.map(\.moment) ?? .max < plan["deadline"] * Clock.second,
            seen: end.map { "\(DrillReport.words(Clock.seconds($0.moment))) s" } ?? "none",
            bar: "below \(plan["deadline"]) s")
    }

    /// The largest share of all clients, in percent, that falls into one tenth of a second.
    private func share(_ moments: [Nanoseconds]) -> Double {
        Double(100 * Crush.largest(moments)) / Double(plan["clients"])
    }
}
