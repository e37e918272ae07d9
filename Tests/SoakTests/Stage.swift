import Foundation
import TestSupport

/// A soak: two gateways on one Redis, each with guests, writers at both, and what befalls them.
final class Stage {
    static let guestCount = 14
    static let ids = (0..<6).map { "c\($0)" }

    /// Redis keeps more than the caches do, so that a place that one of them trimmed is fetched
    /// again; and both little enough that they are full from the beginning on and stay it. Who
    /// misses a burst is far behind.
    private static let retained = 400
    private static let settings = [
        "upstream.kind": "redis", "upstream.redis.retain": "\(retained)",
        "cache.retain_messages": "250", "limits.outbox_soft": "16KiB", "sync.backoff_max": "400ms",
        "sync.linger": "5s", "sync.page": "25", "sync.pages": "2",
        "drain.window": "3s", "page.enabled": "false",
        // Of what is older an answer is to say that it does not know.
        "journal.age": "5m",
        // A log that loses its end under a link that stands is found by looking.
        "sync.verify_interval": "3s",
    ]

    /// The deadline of the link, and what two gateways on a busy machine may take on top.
    private static let due = Duration.seconds(5)

    let redis: LinkedRedis
    let near: GatewayProcess
    let far: GatewayProcess
    let keys: Keys
    let chronicle = Chronicle()
    let losses = Losses()
    let ledger: Ledger
    let sampler: Sampler
    let inquest: Inquest
    let length: Double
    let conversations = Stage.ids
    private(set) var guests: [Guest] = []
    private let swarm = ClientSwarm()
    private let orders = Registrar.Orders()
    private var writers: [Background<[String: Truth]>] = []
    private var registrar: Background<Void>?
    private var mood = Guest.Mood.lively
    private var nextSample = ContinuousClock.now
    private var nextCheck = ContinuousClock.now
    private var nextForgetting = ContinuousClock.now
    var nextSpot = ContinuousClock.now
    var inquests = 0
    var bursts = 0
    /// Where the last burst was.
    var burstsIn: String?
    private var reloads = 0
    /// How often what happened.
    var counts: [String: Int] = [:]
    var random: SplitMix64
    private(set) var faults: [String] = []

    var gateways: [GatewayProcess] { [near, far] }

    /// - Parameter length: in seconds.
    /// - Throws: `TestFailure`, and what a client or the server API throws.
    init(length: Double, seed: UInt64, samples: URL) throws {
        self.length = length
        random = SplitMix64(seed: seed)
        sampler = try Sampler(samples)
        ledger = Ledger(keeps: 500) { [chronicle] in chronicle.learn(message: $1, of: $0) }
        redis = try LinkedRedis()
        near = try GatewayProcess(settings: Self.settings, starts: false)
        far = try GatewayProcess(settings: Self.settings, starts: false)
        inquest = Inquest([near, far])
        keys = try Keys(in: near.directory)
        try writeConfiguration()
        let ways = [redis.linkedSettings, redis.directSettings]
        for (gateway, way) in zip(gateways, ways) {
            gateway.settings.merge(way.merging(keys.settings) { $1 }) { $1 }
            gateway.file = configuration
            // Where its log may not grow, a signal would end it before it is told: see `cram`.
            gateway.launcher = ["/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"]
            try gateway.start()
        }
        try fill()
        try admit()
        try startWriters()
    }

    deinit {
        for writer in writers { writer.end() }
        registrar?.end()
    }

    private var configuration: URL { near.directory.appendingPathComponent("soak.json5") }

    /// A limit that a reload applies, another each time.
    ///
    /// - Throws: Foundation's error.
    func writeConfiguration() throws {
        reloads += 1
        let text = "{ drain: { deadline: \"\(6 + reloads % 2)s\" } }\n"
        try Data(text.utf8).write(to: configuration, options: .atomic)
    }

    var people: [String] { (0..<Self.guestCount).map { "guest-\($0)" } }

    /// As many messages in each conversation as the origin keeps.
    private func fill() throws {
        let api = far.api(learnsWrites: false)
        for id in conversations {
            let names = people.map(JSONValue.string)
            let record = try api.put(id, ["participants": .array(names)])
            let heads = try api.call("POST", "/v1/heads", ["ids": [.string(id)]])["heads"]
            chronicle.learn(head: heads[id], of: id)
            chronicle.learn(record: record, of: id)
            for array in 0..<Self.retained / 100 {
                let messages = (0..<100).map { place -> JSONValue in
                    ["author": "filler", "body": .string("before, \(array) and \(place)")]
                }
                for message in try api.post(messages, to: id) { ledger.note(id, message) }
            }
        }
    }

    private func admit() throws {
        let lines = try ChatLog.days().flatMap(\.lines).filter { !$0.text.isEmpty }
        let bodies = lines.prefix(5000).map { String(decoding: $0.text, as: UTF8.self) }
        let house = Guest.House(gateways: gateways, keys: keys, ledger: ledger, bodies: bodies)
        for (place, user) in people.enumerated() {
            let own = [0, 1, 3].map { conversations[(place + $0) % conversations.count] }
            // Every third reads slowly.
            let guest = try Guest(
                user, own, in: house, isSlow: place % 3 == 0, seed: random.next())
            swarm.add(guest.client)
            guests.append(guest)
        }
    }

    private func startWriters() throws {
        let lines = try ChatLog.days().flatMap(\.lines).filter { !$0.text.isEmpty }
        var habit = LineWriter.Habit()
        habit.pause = 300_000
        habit.recent = 40
        habit.kept = Self.retained
        habit.remembers = false
        for (place, gateway) in gateways.enumerated() {
            writers.append(
                LineWriter.start(
                    "writer-\(place)", port: gateway.port, lines: lines,
                    conversations: conversations, ledger: ledger, seed: random.next(),
                    habit: habit))
        }
        registrar = Registrar.start(
            gateways, conversations, people, chronicle, orders, seed: random.next())
    }

    func accuse(_ fault: String) {
        if faults.count < 20 { faults.append("second \(Int(sampler.second)): \(fault)") }
    }

    // MARK: - Time

    /// Lets everybody live until something holds.
    ///
    /// - Returns: Whether it came to hold in time.
    /// - Throws: what a client throws.
    func live(_ time: Duration, until condition: () throws -> Bool = { false }) throws -> Bool {
        let deadline = Deadline.after(time)
        while !deadline.isOver {
            for (place, guest) in guests.enumerated() {
                if guest.isResting {
                    inquest.rests()
                    swarm.paused.insert(place)
                } else {
                    swarm.paused.remove(place)
                }
            }
            try swarm.turn(milliseconds: 20)
            for guest in guests {
                try guest.move(mood)
                let steps = guest.client.takeRecording()
                guest.witness.judge(steps, by: chronicle)
                try inquest.hear(guest.user, steps, port: guest.client.port)
            }
            inquest.turn()
            try look()
            if try condition() { return true }
            // What comes meanwhile is read in one piece: the soak is to be a light load.
            usleep(10_000)
        }
        return false
    }

    private func look() throws {
        let now = ContinuousClock.now
        if nextCheck < now {
            nextCheck = now + .milliseconds(500)
            for guest in guests { guest.checkFresh(at: now - Self.due) }
        }
        spot(at: now)
        if nextSample < now {
            nextSample = now + .seconds(1)
            try sampler.look(at: near, "near")
            try sampler.look(at: far, "far")
            try sampler.lookAtSelf()
        }
        if nextForgetting < now {
            nextForgetting = now + .seconds(10)
            chronicle.forget()
            inquest.forget()
        }
    }

    /// Lets mishaps happen for the length of the soak, each kind once before one comes again; and
    /// everybody become whole after each round of them.
    ///
    /// - Throws: what a client or a process throws.
    func run() throws {
        var deck = Mishap.all.shuffled(using: &random)
        while sampler.second < length {
            guard let mishap = deck.popLast() else {
                try breathe()
                deck = Mishap.all.shuffled(using: &random)
                continue
            }
            try suffer(mishap)
            _ = try live(.milliseconds(Int.random(in: 1000...5000, using: &random)))
        }
    }

    /// Nothing happens until everybody is at what was acknowledged when it began.
    private func breathe() throws {
        mood = .calm
        orders.calm(true)
        let heads = Dictionary(uniqueKeysWithValues: conversations.map { ($0, ledger.newest($0)) })
        try expectWhole(heads)
        try inquire()
        mood = .lively
        orders.calm(false)
    }

    private func expectWhole(_ heads: [String: Int]) throws {
        let isWhole = try live(.seconds(45)) {
            try guests.allSatisfy { $0.isWhole(heads) } && openGaps() == 0
                && gateways.allSatisfy { try $0.health().json["status"] == "ok" }
        }
        guard !isWhole else { return }
        let late = guests.filter { !$0.isWhole(heads) }.prefix(3).map(\.standing)
        accuse("not whole at \(heads), \(try openGaps()) gaps: \(late.joined(separator: "; "))")
        for gateway in gateways { accuse("\(try gateway.health().json)") }
    }

    /// What is still known to be missing, at both gateways.
    private func openGaps() throws -> Int {
        try gateways.reduce(0) {
            $0 + (try $1.api().call("GET", "/v1/gaps")["gaps"].array?.count ?? 0)
        }
    }

    // MARK: - The end

    /// Ends the writers, and lets everybody come to the end of the logs.
    ///
    /// - Throws: what a writer or a client throws.
    func settle() throws {
        mood = .calm
        orders.calm(true)
        for writer in writers { writer.end() }
        _ = try live(.seconds(60)) { writers.allSatisfy(\.isDone) }
        for writer in writers { _ = try writer.join() }
        mood = .still
        for guest in guests { guest.settle() }
        _ = try live(.seconds(60)) { guests.allSatisfy { $0.writing == nil && $0.isSettled } }
        registrar?.end()
        _ = try live(.seconds(60)) { registrar?.isDone != false }
        try registrar?.join()
        let api = far.api()
        var logs: [String: Truth.Log] = [:]
        for id in conversations { logs[id] = try api.learnChanges(of: id).log }
        try expectWhole(logs.mapValues(\.headRev))
        try inquire()
        for (id, log) in logs { try expectExact(id, log, api.truth(of: id)) }
        for guest in guests where !guest.witness.isDone {
            accuse("\(guest.user): a change was told, and nobody made it")
        }
    }

    /// Everybody holds exactly the log, and the log is what its writers were told.
    private func expectExact(_ id: String, _ log: Truth.Log, _ truth: Truth) throws {
        let floor = try log.messages.first?.required("seq") ?? 1
        if !chronicle.knows(id, upTo: log.headRev) {
            accuse("\(id): a change up to \(log.headRev) was made by nobody")
        }
        for guest in guests where guest.conversations.contains(id) {
            try guest.client.heal(id, from: floor, limit: { 400 })
            let holder = guest.client.holder(id)
            let held = holder.messages.filter { $0["seq"].int ?? 0 >= floor }
            if held != log.messages {
                accuse("\(guest.user) holds \(held.count) of \(id), not its \(log.messages.count)")
            }
            let found = chronicle.judge(id) { $0.check(holder) } + Oracle(truth).check(holder)
            for fault in found.prefix(3) { accuse("\(guest.user), \(id) at the end: \(fault)") }
        }
    }

    /// All that is wrong.
    func judge() -> [String] {
        var all = faults + chronicle.faults + inquest.faults
        for guest in guests { all += guest.faults + guest.witness.faults }
        all += losses.judge(gateways)
        if sampler.unbalanced > 0 { all.append("the books: \(sampler.unbalanced) times") }
        for gateway in gateways {
            let error = try? gateway.metrics()["gapless_accounting_error"]
            if error != 0 { all.append("the error of the books at the end is \(error ?? -1)") }
        }
        return all
    }
}
