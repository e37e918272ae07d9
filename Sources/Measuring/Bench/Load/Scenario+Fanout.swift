import JSON

/// The parameters of one fan-out case.
struct FanoutPlan: Sendable {
    enum Load: Sendable {
        /// A closed loop with this many messages in flight.
        case inFlight(Int)
        /// A closed loop in bursts: the next burst follows when all of the last are delivered.
        case bursts(Int)
        /// An open loop with this many messages a second.
        case perSecond(Int)
    }

    let subscribers: Int
    /// The number of conversations among which the subscribers are divided.
    var rooms = 1
    let load: Load
    let publishers: Int
    let body: String
    let warmUp: Nanoseconds
    let span: Nanoseconds
    let patience: Nanoseconds
    /// What the conversations' names end with: an origin outside keeps those of earlier trials.
    var trial = ""

    var name: String {
        let size = rooms == 1 ? "N=\(subscribers)" : "N=\(subscribers)/\(rooms)"
        return switch load {
        case .inFlight(let width): "\(size) w\(width)"
        case .bursts(let width): "\(size) b\(width)"
        case .perSecond(let rate): "\(size) r\(rate)"
        }
    }

    func conversation(_ room: Int) -> String {
        (rooms == 1 ? "bench" : "bench-\(room)") + trial
    }
    func room(of subscriber: Int) -> Int { subscriber % rooms }
    func members(of room: Int) -> Int { (subscribers + rooms - 1 - room) / rooms }

    var parameters: [(name: String, value: Int)] {
        let load: (String, Int) =
            switch self.load {
            case .inFlight(let width): ("inFlight", width)
            case .bursts(let width): ("burst", width)
            case .perSecond(let rate): ("perSecond", rate)
            }
        return [
            ("subscribers", subscribers), ("rooms", rooms), load, ("publishers", publishers),
            ("bodyBytes", body.utf8.count),
        ]
    }
}

/// `fanout`: the whole pipeline under load. A message arrives as JSON, is committed, answered, and
/// delivered to every subscriber; the accounting is checked at the end.
extension Scenario {
    static let fanout = Scenario(
        name: "fanout", summary: "deliveries and messages per second, latency, CPU",
        options: loadOptions(
            subscribers: "of the one conversation (1,1000)", inFlight: "(1,16)", rate: "(none)",
            body: 40)
    ) { options throws(BenchError) in
        let counts = try options.ints("subscribers", default: [1, 1000], in: 1...100_000)
        let loads = try loads(options, inFlight: [1, 16], rates: [])
        var cases: [Case] = []
        for count in counts {
            cases += try Self.cases(options, loads, subscribers: count, rooms: 1, body: 40)
        }
        return cases
    }

    static let rooms = Scenario(
        name: "rooms", summary: "the same in many small conversations, a message to one at a time",
        options: loadOptions(
            subscribers: "in all, each in one room (1000)", inFlight: "(64)", rate: "(1000)",
            body: 80)
            + [.init(name: "rooms", value: "N", help: "how many conversations (100)")]
    ) { options throws(BenchError) in
        let counts = try options.ints("subscribers", default: [1000], in: 1...100_000)
        let rooms = try options.int("rooms", default: 100, in: 2...100_000)
        let loads = try loads(options, inFlight: [64], rates: [1000])
        var cases: [Case] = []
        for count in counts {
            guard count >= rooms else {
                throw .usage("--subscribers: \(count) are fewer than --rooms: \(rooms)")
            }
            cases += try Self.cases(options, loads, subscribers: count, rooms: rooms, body: 80)
        }
        return cases
    }

    private static func loadOptions(
        subscribers: String, inFlight: String, rate: String, body: Int
    ) -> [Options.Option] {
        [
            .init(name: "subscribers", value: "N,…", help: subscribers),
            .init(
                name: "in-flight", value: "W,…", help: "closed loops with W messages \(inFlight)"),
            .init(
                name: "burst", value: "W,…",
                help: "closed loops in which W messages arrive together (none)"),
            .init(
                name: "rate", value: "R,…", help: "open loops with R messages a second \(rate)"),
            .init(name: "publishers", value: "N", help: "connections that send (8)"),
            .init(name: "body", value: "BYTES", help: "length of a message's text (\(body))"),
            .init(name: "warm-up", value: "MS", help: "before anything counts (1000)"),
            .init(name: "span", value: "MS", help: "how long to measure (2000)"),
            .init(name: "settle", value: "MS", help: "wait for the last deliveries (10000)"),
            .init(
                name: "also", value: "KEY=VALUE …",
                help: "the same with these settings too, between spaces", repeats: true),
            .init(
                name: "peer", value: "NAME=URL[,URL]",
                help: "a server that hands on what it gets, at the publishers' URL", repeats: true),
        ]
    }

    private static func loads(
        _ options: Options, inFlight: [Int], rates: [Int]
    ) throws(BenchError) -> [FanoutPlan.Load] {
        let widths = try options.ints("in-flight", default: inFlight, in: 1...100_000)
        let bursts = try options.ints("burst", default: [], in: 1...100_000)
        let rates = try options.ints("rate", default: rates, in: 1...1_000_000)
        return widths.map(FanoutPlan.Load.inFlight) + bursts.map(FanoutPlan.Load.bursts)
            + rates.map(FanoutPlan.Load.perSecond)
    }

    private static func cases(
        _ options: Options, _ loads: [FanoutPlan.Load], subscribers: Int, rooms: Int, body: Int
    ) throws(BenchError) -> [Case] {
        let publishers = try options.int("publishers", default: 8, in: 1...1000)
        let body = String(
            repeating: "x", count: try options.int("body", default: body, in: 1...16_384))
        let warmUp = try options.int("warm-up", default: 1000, in: 0...600_000)
        let span = try options.int("span", default: 2000, in: 100...600_000)
        let settle = try options.int("settle", default: 10_000, in: 100...600_000)
        var peers: [Peer] = []
        for text in options.all("peer") { peers.append(try Peer(text)) }
        let variants = [[]] + options.all("also").map { $0.split(separator: " ").map(String.init) }
        return loads.flatMap { load in
            let plan = FanoutPlan(
                subscribers: subscribers, rooms: rooms, load: load, publishers: publishers,
                body: body, warmUp: warmUp * Clock.millisecond, span: span * Clock.millisecond,
                patience: settle * Clock.millisecond)
            return cases(of: plan, variants, peers)
        }
    }

    /// One load, on the gateway with each of the settings, and on each peer.
    private static func cases(
        of plan: FanoutPlan, _ variants: [[String]], _ peers: [Peer]
    ) -> [Case] {
        let size = DeliverySize()
        let own = variants.map { settings in
            Case(name: plan.name, parameters: plan.parameters, settings: settings) {
                gateway throws(BenchError) in try trial(of: plan, gateway, size)
            }
        }
        return own
            + peers.map { peer in
                Case(name: plan.name, parameters: plan.parameters, peer: peer.name) {
                    () throws(BenchError) in try trial(of: plan, peer, size)
                }
            }
    }

    private static func trial(
        of plan: FanoutPlan, _ gateway: GatewayProcess, _ size: DeliverySize
    ) throws(BenchError) -> Trial {
        let swarm = try Swarm(port: gateway.port)
        var plan = plan
        if !gateway.isOrigin { plan.trial = "-\(String(Clock.now() & 0xFFFFFF, radix: 16))" }
        let base = try subscribe(plan, swarm, gateway)
        let run = FanoutRun(swarm, plan, base: base)
        var trial = try measure(run, plan) { () throws(BenchError) in try gateway.figures() }
        size.note(trial.figures.first { $0.name == "bytesPerDelivery" }?.value ?? 0)
        trial.faults = run.finalFaults() + (try gateway.faults())
        return trial
    }

    /// Creates the conversations, connects all clients and subscribes.
    /// - Returns: the seq of their heads.
    static func subscribe(
        _ plan: FanoutPlan, _ swarm: Swarm, _ gateway: GatewayProcess
    ) throws(BenchError) -> Int {
        let everybody = 0..<(plan.subscribers + plan.publishers)
        // Every client is a different user, as in reality.
        let api = try gateway.api()
        for room in 0..<plan.rooms {
            let members = everybody.filter { $0 >= plan.subscribers || plan.room(of: $0) == room }
            try api.create(plan.conversation(room), participants: members.map { "user-\($0)" })
        }
        try swarm.open(everybody.count)
        try swarm.connect(everybody) { "user-\($0)" }
        try swarm.ask(0..<plan.subscribers) { client in
            let room = plan.room(of: client.index)
            return Request.subscribe(id: 2, conversation: plan.conversation(room), limit: 1)
        }
        return try api.head(of: plan.conversation(0)).object?["seq"]?.int ?? 0
    }

    private static func trial(
        of plan: FanoutPlan, _ peer: Peer, _ size: DeliverySize
    ) throws(BenchError) -> Trial {
        let processes = try peer.processes()
        let swarm = try Swarm(peer.endpoint)
        let publishers = try join(peer, plan, swarm)
        let wire = PeerWire(
            bytes: try size.bytes(), dialect: peer.dialect, publishers: publishers.count)
        let run = FanoutRun(swarm, plan, base: 0, publishers: publishers, wire: wire)
        var trial = try measure(run, plan) { () throws(BenchError) in
            try ProcessFigures(of: processes)
        }
        trial.faults = run.finalFaults()
        return trial
    }

    /// Connects all clients to a peer.
    /// - Returns: the indices of the publishers; if the path names the room, the first is that of
    ///   the first room, and so on.
    private static func join(
        _ peer: Peer, _ plan: FanoutPlan, _ swarm: Swarm
    ) throws(BenchError) -> Range<Int> {
        guard peer.dialect == .frames else {
            let all = try swarm.open(
                plan.subscribers + plan.publishers, saying: swarm.upgrade(at: peer.path))
            let publishers = all.suffix(plan.publishers)
            try swarm.ask(
                all.prefix(plan.subscribers), { NATS.subscription(plan.room(of: $0.index)) },
                isAnswer: NATS.isGreeted)
            if peer.dialect == .nats {
                try swarm.ask(publishers, { _ in NATS.greeting }, isAnswer: NATS.isGreeted)
            } else {
                try swarm.ask(
                    publishers, { NATS.streamGreeting($0.index - publishers.lowerBound) },
                    isAnswer: NATS.hasStream)
            }
            return publishers
        }
        func upgrade(_ path: String, _ room: Int) -> [UInt8] {
            swarm.upgrade(at: Peer.path(path, room: room, of: plan.rooms))
        }
        let subscribers = try swarm.open(plan.subscribers) {
            upgrade(peer.path, plan.room(of: $0))
        }
        let isOne = plan.rooms == 1
        guard let path = peer.publisherPath else {
            return isOne ? subscribers.suffix(plan.publishers) : subscribers.prefix(plan.rooms)
        }
        return try swarm.open(isOne ? plan.publishers : plan.rooms) { upgrade(path, $0) }
    }

    private static func measure(
        _ run: FanoutRun, _ plan: FanoutPlan,
        _ figures: @escaping () throws(BenchError) -> ProcessFigures
    ) throws(BenchError) -> Trial {
        try run.publish(for: plan.warmUp, measuring: false)
        let (deliveries, completed, bytes) = (run.deliveries, run.completed, run.bytes)
        let meter = try UsageMeter(run.swarm, figures)
        try run.publish(for: plan.span, measuring: true)
        let usage = try meter.read()
        let resident = try figures().residentBytes
        let delivered = Double(run.deliveries - deliveries)
        let messages = Double(run.completed - completed)
        let size = Double(run.bytes - bytes) / max(1, delivered)
        try run.settle(for: plan.patience)

        var trial = Trial()
        trial.add("deliveriesPerSecond", delivered / usage.wallSeconds, "1/s")
        trial.add("deliveriesPerCPUSecond", delivered / max(1e-6, usage.gatewaySeconds), "1/s")
        trial.add("messagesPerSecond", messages / usage.wallSeconds, "1/s")
        trial.add("messagesPerCPUSecond", messages / max(1e-6, usage.gatewaySeconds), "1/s")
        trial.add(latencies: run.latencies)
        trial.add("bytesPerDelivery", size, "B")
        trial.add("residentMemory", Double(resident), "B")
        trial.add(usage)
        return trial
    }
}
