/// `avalanche`: the gateway dies under all clients, as in a crash, and is restarted at once. Half
/// of the conversations continue as soon as it is back; in the others nothing was missed.
extension Drill {
    static let avalanche = Drill(
        name: "avalanche", summary: "a restart under thousands of clients",
        scale: [
            Scale(name: "clients", value: 5000, range: 1...100_000, help: "who are connected"),
            Scale(name: "rooms", value: 100, range: 2...10_000, help: "conversations"),
            Scale(name: "held", value: 20, range: 1...900, help: "messages of each"),
            Scale(
                name: "messages", value: 5, range: 0...900, help: "sent then, into every second"),
        ],
        restarts: true
    ) { site, plan, report throws(BenchError) in
        let rooms = plan["rooms"]
        let members = (0..<plan["clients"]).map { [$0 % rooms, ($0 + 1) % rooms] }
        let crowd = try Crowd.gather(
            at: site, rooms: rooms, members: members, held: plan["held"], body: 40)
        try crowd.addAuthor()
        try crowd.dialAll(width: 256)
        plan.say("\(plan["clients"]) clients are connected")
        crowd.ledger.resumeLatency = Histogram()
        crowd.isComingBack = true
        crowd.tell = { [unowned crowd] news throws(BenchError) in
            guard case .authorBack = news else { return }
            for room in crowd.rooms where room.index % 2 == 0 {
                for _ in 0..<plan["messages"] { try crowd.publish(room, due: Clock.now()) }
            }
        }
        let meter = BusyMeter()
        let start = Clock.now()
        try site.restart()
        let isGone = start + 10 * Clock.second
        try crowd.run(until: isGone) { crowd.backCount == 0 }
        try crowd.run(until: start + 60 * Clock.second) {
            crowd.backCount == crowd.members.count && crowd.unanswered == 0
                && crowd.isEverybodyWhole
        }
        let busy = meter.read()
        report.add("recovery", crowd.ledger.resumeLatency)
        report.add("replay", crowd.ledger.replayLatency)
        report.add("whole", Clock.seconds(Clock.now() - start), "s")
        report.add("rangeFetches", try site.operations.fetches("range"))
        report.add("headFetches", try site.operations.fetches("heads"))
        report.require(
            "clients that are back", crowd.backCount == crowd.members.count,
            seen: "\(crowd.backCount)", bar: "\(crowd.members.count)")
        report.require("resets", none: crowd.ledger.resets)
        report.require(
            "recovery p95",
            DrillReport.milliseconds(crowd.ledger.resumeLatency.quantile(0.95)), below: 6000, "ms")
        let quiet = plan["messages"] == 0 ? 0 : (rooms + 1) / 2
        report.require(
            "range fetches, one at most for each conversation that went on",
            try site.operations.fetches("range") <= quiet,
            seen: "\(try site.operations.fetches("range"))", bar: "at most \(quiet)")
        report.require(
            "probes of heads, in batches", try site.operations.fetches("heads") <= rooms / 2,
            seen: "\(try site.operations.fetches("heads"))", bar: "at most \(rooms / 2)")
        try report.close(crowd.ledger, crowd.account(), busy: busy, site)
        try crowd.leave(site)
    }
}
