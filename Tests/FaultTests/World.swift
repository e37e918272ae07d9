import Glibc
import TestSupport
import Testing

/// Two gateways on one Redis, the near one by way of a proxy, with writers and watchers at each.
final class World {
    static let watcherCount = 20

    let redis: RedisProcess
    let proxy: TCPProxy
    let near: GatewayProcess
    let far: GatewayProcess
    let conversations = ["c0", "c1", "c2", "c3"]
    /// Where something is said only while the link is broken: no later change tells anybody that
    /// they missed it.
    let quiet = "quiet"
    private let whisperer: ServerAPI
    let ledger = Ledger()
    private(set) var watchers: [Watcher] = []
    private let swarm = ClientSwarm()
    private var writers: [Background<[String: Truth]>] = []
    private var probers: [Prober] = []
    private var random: SplitMix64

    var nearProber: Prober { probers[0] }
    var farProber: Prober { probers[1] }
    var gateways: [GatewayProcess] { [near, far] }

    /// - Throws: `TestFailure`, and what a client or the server API throws.
    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        redis = try RedisProcess()
        proxy = try TCPProxy(to: redis.port)
        // The near one reads little at once, so that a short outage is far behind for it.
        near = try GatewayProcess(
            settings: Faults.settings.merging([
                "upstream.redis.url": "redis://127.0.0.1:\(proxy.port)/0", "sync.page": "10",
                "sync.pages": "3",
            ]) { $1 })
        far = try GatewayProcess(
            settings: Faults.settings.merging(["upstream.redis.url": redis.url]) { $1 })
        let people = (0..<Self.watcherCount).map { JSONValue.string("watcher-\($0)") }
        whisperer = far.api()
        for id in conversations + [quiet] {
            try whisperer.put(id, ["participants": .array(people)])
        }
        for place in 0..<Self.watcherCount {
            let pair = [conversations[place % 4], conversations[(place + 1) % 4], quiet]
            let watcher = try Watcher(gateways[place / 4 % 2], "watcher-\(place)", pair)
            add(watcher)
            try watcher.subscribe()
        }
        let lines = try ChatLog.days().flatMap(\.lines).filter { !$0.text.isEmpty }
        for (place, gateway) in gateways.enumerated() {
            writers.append(
                LineWriter.start(
                    "writer-\(place)", port: gateway.port, lines: lines,
                    conversations: conversations, ledger: ledger, seed: random.next(),
                    admits: place == 0))
            probers.append(Prober(gateway))
        }
    }

    deinit {
        for writer in writers { writer.end() }
        for prober in probers { prober.end() }
        redis.send(SIGCONT)
        proxy.close()
    }

    private func add(_ watcher: Watcher) {
        watchers.append(watcher)
        swarm.add(watcher.client)
    }

    /// Lets everybody live until something holds.
    ///
    /// - Returns: Whether it came to hold in time.
    /// - Throws: what a client throws.
    func live(_ time: Duration, until condition: () throws -> Bool = { false }) throws -> Bool {
        let deadline = Deadline.after(time)
        while !deadline.isOver {
            let due = ContinuousClock.now - Faults.deadline - Faults.margin
            try swarm.turn(milliseconds: 20)
            for watcher in watchers { watcher.checkFresh(ledger, at: due) }
            if try condition() { return true }
        }
        return false
    }

    /// Says something where nobody else does, and changes what was said before.
    ///
    /// - Throws: `Refused`, `TestFailure`.
    func whisper() throws {
        let before = try whisperer.page(quiet, "limit=1")["messages"][0]["id"].string
        var said = try (1...3).map { _ in
            try whisperer.post(["author": "whisperer", "body": "missed"], to: quiet)
        }
        if let before { said.append(try whisperer.edit(before, in: quiet, ["body": "changed"])) }
        for message in said {
            ledger.note(quiet, seq: message["seq"].int ?? 0, rev: message["rev"].int ?? 0)
        }
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
            let next = try Watcher(
                gateways[Int.random(in: 0...1, using: &random)], old.client.user,
                old.conversations, before: Dictionary(uniqueKeysWithValues: holders))
            swarm.add(next.client)
            try next.subscribe()
            retired.append(old)
            watchers[place] = next
        }
    }

    /// How long an outage goes on after it was noticed: what is missed then is little or much.
    func pause() -> Duration {
        .milliseconds(Int.random(in: 300...(Faults.isLong ? 2500 : 1200), using: &random))
    }

    /// Those whose connection has gone.
    private(set) var retired: [Watcher] = []

    /// What is still known to be missing, at both gateways.
    ///
    /// - Throws: `TestFailure`.
    func openGaps() throws -> Int {
        try gateways.reduce(0) {
            $0 + (try $1.api().call("GET", "/v1/gaps")["gaps"].array?.count ?? 0)
        }
    }

    /// Whether everybody is at least at what was acknowledged when it was asked.
    func present() -> () throws -> Bool {
        let heads = Dictionary(
            uniqueKeysWithValues: (conversations + [quiet]).map { ($0, ledger.newest($0)) })
        return { [unowned self] in
            watchers.allSatisfy { $0.isWhole(heads) }
                && probers.allSatisfy { $0.status == 200 }
        }
    }

    /// Ends the writers and lets everybody come to the end of the logs.
    ///
    /// - Returns: The truth of each conversation.
    /// - Throws: what the writers and the clients throw.
    func settle() throws -> [String: Truth] {
        for writer in writers { writer.end() }
        _ = try live(.seconds(60)) { writers.allSatisfy(\.isDone) }
        var truths = try far.api().gather(writers, conversations)
        try whisperer.learnChanges(of: quiet)
        truths[quiet] = whisperer.truth(of: quiet)
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

    func stragglers(_ heads: [String: Int]) -> String {
        watchers.filter { !$0.isWhole(heads) }.prefix(3).map { watcher in
            let holders = watcher.conversations.map {
                let holder = watcher.client.holder($0)
                return "\($0) asOf \(holder.asOf) of \(heads[$0] ?? 0)"
                    + (holder.isOpen ? " open" : "")
            }
            return "\(watcher.client.user) at \(watcher.client.port == near.port ? "near" : "far")"
                + " \(watcher.state): \(holders.joined(separator: ", "))"
        }.joined(separator: "; ")
    }

    /// Times that the books of a gateway were not balanced.
    var unbalanced: Int { probers.reduce(0) { $0 + $1.unbalanced } }
}
