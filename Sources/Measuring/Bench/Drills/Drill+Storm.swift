/// `storm`: all clients were away, have missed something in each conversation, and come back at the
/// same moment.
extension Drill {
    static let storm = Drill(
        name: "storm", summary: "everybody resumes at once, and all have missed something",
        scale: [
            Scale(name: "clients", value: 10_000, range: 1...100_000, help: "who come back"),
            Scale(name: "conversations", value: 3, range: 1...100, help: "of each client"),
            Scale(name: "missed", value: 20, range: 0...900, help: "messages of each"),
            Scale(name: "rooms", value: 30, range: 1...10_000, help: "conversations altogether"),
            Scale(name: "held", value: 100, range: 0...900, help: "messages held of each"),
        ]
    ) { site, plan, report throws(BenchError) in
        let (each, rooms) = (plan["conversations"], plan["rooms"])
        guard each <= rooms else { throw .usage("--rooms: fewer than --conversations") }
        let members = (0..<plan["clients"]).map { client in
            (0..<each).map { (client * each + $0) % rooms }
        }
        let crowd = try Crowd.gather(
            at: site, rooms: rooms, members: members, held: plan["held"], body: 40)
        try crowd.dialAll(width: 256)
        for index in crowd.members.indices { crowd.cut(index) }
        let api = try site.api()
        for room in crowd.rooms { try api.post(plan["missed"], to: room) }
        plan.say("\(plan["clients"]) clients have missed \(plan["missed"]) messages of each")
        crowd.ledger.resumeLatency = Histogram()
        crowd.isComingBack = true
        let before = try site.operations.fetches("range")
        let meter = BusyMeter()
        let start = Clock.now()
        // More at once would only wait in the kernel's accept queue.
        try crowd.dialAll(width: 2000)
        let span = Clock.seconds(Clock.now() - start)
        let busy = meter.read()
        report.add("whole", span, "s")
        report.add("resumesPerSecond", Double(plan["clients"] * each) / span, "1/s")
        report.add("resume", crowd.ledger.resumeLatency)
        let fetches = try site.operations.fetches("range") - before
        report.add("rangeFetches", fetches)
        report.require(
            "range fetches, one at most for each conversation", fetches <= rooms,
            seen: "\(fetches)", bar: "at most \(rooms)")
        report.require("resets", none: crowd.ledger.resets)
        try report.close(crowd.ledger, crowd.account(), busy: busy, site)
        try crowd.leave(site)
    }
}
