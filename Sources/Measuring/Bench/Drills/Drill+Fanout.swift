/// `fanout`: one conversation, many subscribers, and messages at a fixed rate.
extension Drill {
    static let fanout = Drill(
        name: "fanout", summary: "one conversation to thousands of clients",
        scale: [
            Scale(name: "clients", value: 5000, range: 1...100_000, help: "who listen"),
            Scale(name: "rate", value: 5, range: 1...180, help: "messages a second"),
            Scale(name: "seconds", value: 20, range: 1...3600, help: "that it lasts"),
            Scale(
                name: "p99", value: 100, range: 1...60_000,
                help: "that 99 of 100 deliveries may take, in ms"),
        ]
    ) { site, plan, report throws(BenchError) in
        let crowd = try Crowd.gather(
            at: site, rooms: 1, members: Array(repeating: [0], count: plan["clients"]), held: 0,
            body: 40)
        try crowd.addAuthor()
        try crowd.dialAll(width: 256)
        plan.say("\(plan["clients"]) clients listen")
        crowd.tell = { [unowned crowd] news throws(BenchError) in
            guard case .step(_, let due) = news else { return }
            try crowd.publish(crowd.rooms[0], due: due)
        }
        let start = Clock.now() + 100 * Clock.millisecond
        let count = plan["seconds"] * plan["rate"]
        for number in 0..<count {
            crowd.schedule(.step(number), at: start + number * Clock.second / plan["rate"])
        }
        let meter = BusyMeter()
        try crowd.run(until: start + plan["seconds"] * Clock.second)
        let busy = meter.read()
        try crowd.run(until: Clock.now() + 10 * Clock.second) { crowd.isEverybodyWhole }
        report.add("deliveriesPerSecond", Double(plan["clients"] * plan["rate"]), "1/s")
        report.add("live", crowd.ledger.liveLatency)
        // One thread sends to one client after another, so the last client waits for all the sends;
        // that is fine as long as no reader would notice it.
        report.require(
            "delivery p99", DrillReport.milliseconds(crowd.ledger.liveLatency.quantile(0.99)),
            below: Double(plan["p99"]), "ms")
        try report.close(crowd.ledger, crowd.account(), busy: busy, site)
        try crowd.leave(site)
    }
}
