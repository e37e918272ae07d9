import Glibc
import TestSupport
import Testing

/// Two gateways on one origin, with writers and watchers at each.
final class World {
    static let watcherCount = 20

    /// What a world is made of.
    struct Plan {
        /// Settings of each gateway that lead to the origin.
        var near: [String: String]
        var far: [String: String]
        /// The writers' conversations, four in all; a gateway has a writer for each group, since
        /// one that waits for one conversation writes to no other.
        var groups = [["c0", "c1", "c2", "c3"]]
        /// Where something is said only while the link is broken: no later change tells anybody
        /// that they missed it.
        var quiet = "quiet"
        /// Whether the origin may lose what it acknowledged.
        var expectsLosses = false
    }

    let near: GatewayProcess
    let far: GatewayProcess
    let plan: Plan
    let conversations: [String]
    private let whisperer: ServerAPI
    let ledger = Ledger()
    private(set) var watchers: [Watcher] = []
    /// Those whose connection has gone.
    private(set) var retired: [Watcher] = []
    private(set) var listers: [ListWatcher] = []
    private let swarm = ClientSwarm()
    private var writers: [Background<[String: Truth]>] = []
    private var probers: [Prober] = []
    private var random: SplitMix64

    var nearProber: Prober { probers[0] }
    var farProber: Prober { probers[1] }
    var gateways: [GatewayProcess] { [near, far] }
    var all: [String] { conversations + [plan.quiet] }

    /// - Throws: `TestFailure`, and what a client or the server API throws.
    init(_ plan: Plan, seed: UInt64) throws {
        self.plan = plan
        conversations = plan.groups.flatMap { $0 }
        random = SplitMix64(seed: seed)
        // The near one reads little at once, so that a short outage is far behind for it.
        let little = ["sync.page": "10", "sync.pages": "3"]
        near = try GatewayProcess(
            settings: Faults.settings.merging(plan.near) { $1 }.merging(little) { $1 })
        far = try GatewayProcess(settings: Faults.settings.merging(plan.far) { $1 })
        whisperer = ServerAPI(
            port: far.port, apiKey: GatewayProcess.apiKey, learnsWrites: !plan.expectsLosses)
        let people = (0..<Self.watcherCount).map { "watcher-\($0)" } + ListWatcher.users
        for id in all {
            try whisperer.put(id, ["participants": .array(people.map(JSONValue.string))])
        }
        try admitClients()
        try startWriters()
    }

    private func admitClients() throws {
        for place in 0..<Self.watcherCount {
            let ids = [conversations[place % 4], conversations[(place + 1) % 4], plan.quiet]
            let watcher = try watcher(at: gateways[place / 4 % 2], "watcher-\(place)", ids)
            watchers.append(watcher)
            try watcher.subscribe()
        }
        for (place, user) in ListWatcher.users.enumerated() {
            let lister = try ListWatcher(gateways[place % 2], user)
            swarm.add(lister.client)
            listers.append(lister)
        }
    }

    private func watcher(
        at gateway: GatewayProcess, _ user: String, _ ids: [String], before: [String: Holder] = [:]
    ) throws -> Watcher {
        let watcher = try Watcher(
            gateway, user, ids, before: before, expectsLosses: plan.expectsLosses)
        swarm.add(watcher.client)
        return watcher
    }

    private func startWriters() throws {
        let lines = try ChatLog.days().flatMap(\.lines).filter { !$0.text.isEmpty }
        for (place, gateway) in gateways.enumerated() {
            for (number, group) in plan.groups.enumerated() {
                var habit = LineWriter.Habit()
                habit.admits = place == 0 && !plan.expectsLosses
                habit.expectsLosses = plan.expectsLosses
                writers.append(
                    LineWriter.start(
                        "writer-\(place)-\(number)", port: gateway.port, lines: lines,
                        conversations: group, ledger: ledger, seed: random.next(), habit: habit))
            }
            probers.append(Prober(gateway))
        }
    }

    deinit {
        for writer in writers { writer.end() }
        for prober in probers { prober.end() }
    }

    /// Lets everybody live until something holds.
    ///
    /// - Returns: Whether it came to hold in time.
    /// - Throws: what a client throws.
    func live(_ time: Duration, until condition: () throws -> Bool = { false }) throws -> Bool {
        try swarm.live(Deadline.after(time), watchers, ledger, until: condition)
    }

    /// Says something where nobody else does, and changes what was said before.
    ///
    /// - Throws: `Refused`, `TestFailure`.
    func whisper() throws {
        let quiet = plan.quiet
        let before = try whisperer.page(quiet, "limit=1")["messages"][0]["id"].string
        var said = try (1...3).map { _ in
            try whisperer.post(["author": "whisperer", "body": "missed"], to: quiet)
        }
        if let before { said.append(try whisperer.edit(before, in: quiet, ["body": "changed"])) }
        for message in said { ledger.note(quiet, message) }
    }

    /// How many times lists were changed.
    private var turns = 0

    /// Changes what is in the lists of those who watch theirs: one conversation comes, the one
    /// that came before goes, and of the first lister too that takes part no more.
    ///
    /// - Throws: `Refused`, `TestFailure`.
    func changeLists() throws {
        let people = JSONValue.array(ListWatcher.users.map(JSONValue.string))
        try whisperer.put("turn-\(turns)", ["participants": people])
        try whisperer.post(["author": "whisperer", "body": "new"], to: "turn-\(turns)")
        try whisperer.remove(ListWatcher.users[0], from: "turn-\(turns)")
        if turns > 0 { try whisperer.deleteConversation("turn-\(turns - 1)") }
        turns += 1
    }

    /// Some clients lose their connection, and come back to the same gateway or the other one with
    /// what they hold.
    ///
    /// - Throws: what a client throws.
    func moveSome() throws {
        for _ in 0..<Self.watcherCount / 5 {
            guard let place = watchers.indices.randomElement(using: &random) else { return }
            let old = watchers[place]
            guard old.isSubscribed else { continue }
            old.client.disconnect()
            let holders = old.conversations.map { ($0, old.client.holder($0)) }
            let next = try watcher(
                at: gateways[Int.random(in: 0...1, using: &random)], old.client.user,
                old.conversations, before: Dictionary(uniqueKeysWithValues: holders))
            next.isLate = true
            try next.subscribe()
            retired.append(old)
            watchers[place] = next
        }
    }

    /// How long an outage goes on after it was noticed: what is missed then is little or much.
    func pause() -> Duration {
        .milliseconds(Int.random(in: 300...(Faults.isLong ? 2500 : 1200), using: &random))
    }

    /// What is still known to be missing, at both gateways.
    ///
    /// - Throws: `TestFailure`.
    func openGaps() throws -> Int {
        try gateways.reduce(0) {
            $0 + (try $1.api().call("GET", "/v1/gaps")["gaps"].array?.count ?? 0)
        }
    }

    /// Whether everybody is at least at what was acknowledged when it was asked, or, where that may
    /// have been lost, at what the origin has now.
    ///
    /// - Throws: `Refused`, `TestFailure`.
    func present() throws -> () throws -> Bool {
        let heads =
            plan.expectsLosses
            ? try heads()
            : Dictionary(uniqueKeysWithValues: all.map { ($0, ledger.newest($0)) })
        return { [unowned self] in
            try watchers.allSatisfy { $0.isWhole(heads) }
                && probers.allSatisfy { $0.status == 200 } && openGaps() == 0
        }
    }

    private func heads() throws -> [String: Int] {
        let ids = all.map(JSONValue.string)
        let answer = try whisperer.call("POST", "/v1/heads", ["ids": .array(ids)])["heads"]
        return Dictionary(uniqueKeysWithValues: all.map { ($0, answer[$0]["rev"].int ?? 0) })
    }

    /// Ends the writers and lets everybody come to the end of the logs.
    ///
    /// - Returns: The truth of each conversation.
    /// - Throws: what the writers and the clients throw.
    func settle() throws -> [String: Truth] {
        for writer in writers { writer.end() }
        _ = try live(.seconds(60)) { writers.allSatisfy(\.isDone) }
        let truths = try truths()
        let heads = truths.mapValues { $0.log?.headRev ?? 0 }
        let isWhole = try live(.seconds(20)) {
            try watchers.allSatisfy { $0.isWhole(heads) } && openGaps() == 0
        }
        #expect(isWhole, "the end: \(stragglers(heads))")
        // What did not fit an answer is the client's own to fetch.
        for watcher in watchers {
            for id in watcher.conversations { try watcher.client.heal(id) }
        }
        return truths
    }

    private func truths() throws -> [String: Truth] {
        let reader = far.api()
        guard plan.expectsLosses else {
            try whisperer.learnChanges(of: plan.quiet)
            return try reader.gather(writers, conversations)
                .merging([plan.quiet: whisperer.truth(of: plan.quiet)]) { $1 }
        }
        // Every log may have lost what the writers were told.
        for writer in writers { _ = try writer.join() }
        return try Dictionary(
            uniqueKeysWithValues: all.map { ($0, try reader.learnChanges(of: $0)) })
    }

    func stragglers(_ heads: [String: Int]) -> String {
        watchers.filter { !$0.isWhole(heads) }.prefix(3).map { watcher in
            let holders = watcher.conversations.map {
                let holder = watcher.client.holder($0)
                return "\($0) asOf \(holder.asOf) of \(heads[$0] ?? 0)"
                    + (holder.isOpen ? " open" : "") + (holder.isSubscribed ? "" : " left")
            }
            return "\(watcher.client.user) at \(watcher.client.port == near.port ? "near" : "far")"
                + " \(watcher.standing): \(holders.joined(separator: ", "))"
        }.joined(separator: "; ")
    }

    /// What is wrong with the lists at the end, when everything is at rest.
    ///
    /// - Throws: what a client throws.
    func judgeLists() throws -> [String] {
        let truths = try listers.map { try ListWatcher.list(of: $0.client.user, whisperer) }
        _ = try live(.seconds(20)) { zip(listers, truths).allSatisfy { $0.list == $1 } }
        return zip(listers, truths).flatMap { $0.judge($1) }
    }

    /// What is wrong with the gateways themselves at the end.
    ///
    /// - Throws: `TestFailure`.
    func judgeGateways() throws -> [String] {
        // Times that the books of a gateway were not balanced.
        var faults = probers.filter { $0.unbalanced > 0 }.map { _ in "the books" }
        for gateway in gateways {
            if try gateway.metrics()["gapless_accounting_error"] != 0 { faults.append("the error") }
            // A feed that broke before it had subscribed counts as lost for two seconds.
            var health = JSONValue.null
            let isWell = Deadline.standard.poll {
                health = (try? gateway.health().json) ?? .null
                return health["status"] == "ok"
            }
            if !isWell { faults.append("\(health)") }
        }
        return faults
    }
}
