import TestSupport

/// One client of a run: what it holds, what it was told of the upstream, and what was wrong with
/// either.
final class Watcher {
    let client: ChatTestClient
    let conversations: [String]
    /// What it held when it came.
    let before: [String: Holder]
    /// When it was told what of the upstream.
    private(set) var told: [(state: String, at: ContinuousClock.Instant)] = []
    /// Values that came a second time though nothing had taken them away.
    private(set) var repeats = 0
    private(set) var faults: [String] = []
    /// Conversations that began anew, where the origin may lose something; elsewhere it is a fault.
    private(set) var resets: [String] = []
    private let expectsLosses: Bool
    /// Whether it came when the old master counted no more.
    var isLate = false
    /// Changes that were found silent, each of which is one fault.
    private var silent: Set<String> = []
    /// By conversation and place: what events of this subscription brought.
    private var delivered: [String: [Int: JSONValue]] = [:]
    private var asked: [Int: String] = [:]
    /// Subscriptions that were refused for now, and when.
    private var refused: [(conversation: String, at: ContinuousClock.Instant)] = []
    private static let pause = Duration.milliseconds(200)

    /// - Parameter before: what it holds from another gateway or connection.
    /// - Throws: what the client throws.
    init(
        _ gateway: GatewayProcess, _ user: String, _ conversations: [String],
        before: [String: Holder] = [:], expectsLosses: Bool = false
    ) throws {
        self.conversations = conversations
        self.expectsLosses = expectsLosses
        self.before = before
        client = try ChatTestClient(port: gateway.port)
        client.records = true
        for (conversation, holder) in before { client.hold(holder, of: conversation) }
        client.onFrame = { [unowned self] in try took($0) }
        let answer = try client.connect(user: user)
        // What was told since the answer may have come together with it.
        told.insert((answer["upstream"]["state"].string ?? "", .now), at: 0)
    }

    /// Asks for all its conversations, and goes on.
    ///
    /// - Throws: what the client throws.
    func subscribe(limit: Int = 1000) throws {
        for id in conversations { try subscribe(id, limit) }
    }

    private func subscribe(_ id: String, _ limit: Int) throws {
        asked[try client.send("subscribeMessages", client.subscription(id, limit: limit))] = id
    }

    /// Asks once more for what was refused for now, as any client does.
    ///
    /// - Throws: what the client throws.
    func repeatRefused() throws {
        guard !refused.isEmpty, !client.connection.hasEnded else { return }
        let due = refused.filter { $0.at + Self.pause <= .now }
        refused.removeAll { $0.at + Self.pause <= .now }
        for request in due { try subscribe(request.conversation, 1000) }
    }

    var isSubscribed: Bool { asked.isEmpty && refused.isEmpty }

    var state: String { told.last?.state ?? "" }

    /// How it stands with its gateway, for who reads why a run failed.
    var standing: String {
        let connection = client.connection
        guard connection.hasEnded else { return state + (isSubscribed ? "" : ", not answered") }
        return "closed by the gateway (\(connection.closeCode.map { "\($0)" } ?? "no code"))"
    }

    /// When it was first told, after `moment`, that the upstream is not online.
    func alarm(after moment: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        told.first { $0.at >= moment && $0.state != "online" }?.at
    }

    private func took(_ frame: JSONValue) throws {
        if let id = frame["id"].int {
            guard let conversation = asked.removeValue(forKey: id) else { return }
            if frame["error"]["retry"] == "later" {
                return refused.append((conversation, .now))
            }
            guard frame["error"].isNull else {
                throw TestFailure(
                    "\(client.user): subscribe to \(conversation): \(frame["error"])")
            }
            delivered[conversation] = [:]
            return
        }
        switch frame["event"].string {
        case "upstream": told.append((frame["state"].string ?? "", .now))
        case "messages", "gap": noteDelivered(frame)
        case "reset" where expectsLosses:
            let conversation = frame["conversation"].string ?? ""
            resets.append(conversation)
            try subscribe(conversation, 1000)
        case "reset", "unsubscribed":
            faults.append("\(frame["event"]): \(frame["conversation"]) lost nothing")
        default: break
        }
    }

    private func noteDelivered(_ frame: JSONValue) {
        let conversation = frame["conversation"].string ?? ""
        for delta in frame["deltas"].array ?? [] {
            let message = delta["message"]
            let seq = message["seq"].int ?? 0
            if delivered[conversation]?[seq] == message { repeats += 1 }
            delivered[conversation]?[seq] = message
        }
        for gap in frame["gaps"].array ?? [] {
            let inside = (gap["after"].int ?? 0) + 1..<(gap["before"].int ?? 0)
            delivered[conversation] = delivered[conversation]?.filter { !inside.contains($0.key) }
        }
    }

    /// Lets it live until it is at the present.
    /// - Returns: Whether it came there in time.
    /// - Throws: what the client throws.
    func lives(to heads: [String: Int]) throws -> Bool {
        try Deadline.standard.poll {
            try client.pump()
            try repeatRefused()
            return isWhole(heads)
        }
    }

    // MARK: - Judgements

    /// P1: what was acknowledged before `moment` is applied, or known to be missing, or lies above
    /// the `asOf` of a conversation that the client was told is open.
    func checkFresh(_ ledger: Ledger, at moment: ContinuousClock.Instant) {
        guard state == "online", faults.count < 10 else { return }
        for conversation in conversations {
            let holder = client.holder(conversation)
            for entry in ledger.silent(conversation, to: holder, at: moment)
            where silent.insert("\(conversation) \(entry.rev)").inserted {
                faults.append(
                    "\(conversation): change \(entry.rev) of slot \(entry.seq) is silent"
                        + " (asOf \(holder.asOf), held \(holder.held[entry.seq]?["rev"] ?? .null))")
                break
            }
        }
    }

    /// Whether it is at the present of what it watches, as far as the gateway has to bring that.
    func isWhole(_ heads: [String: Int]) -> Bool {
        state == "online" && isSubscribed
            && conversations.allSatisfy {
                let holder = client.holder($0)
                return holder.isSubscribed && !holder.isOpen && holder.asOf >= heads[$0] ?? 0
            }
    }

    /// What is wrong at the end, when everything is at rest.
    func judge(_ truths: [String: Truth]) -> [String] {
        judgeOnTheWay(truths) + judgeLists(truths)
    }

    /// What was wrong at any moment of its connection.
    func judgeOnTheWay(_ truths: [String: Truth]) -> [String] {
        judge {
            Oracle(truths[$0] ?? Truth()).judge(client.recording, $0, from: before[$0] ?? Holder())
        }
    }

    /// The same where a failover lost the ends of logs.
    func judgeOnTheWay(_ oracles: [String: ForkOracle]) -> [String] {
        judge {
            oracles[$0]?.judge(
                client.recording, $0, from: before[$0] ?? Holder(), isLate: isLate) ?? []
        }
    }

    private func judge(_ oracle: (String) -> [String]) -> [String] {
        var all = faults
        if repeats > 0 { all.append("\(repeats) values came twice") }
        return (all + conversations.flatMap(oracle)).map { "\(client.user): \($0)" }
    }

    /// Where what it shows at the end is not the log.
    func judgeLists(_ truths: [String: Truth]) -> [String] {
        conversations.compactMap { conversation in
            let messages = client.holder(conversation).messages
            let log = truths[conversation]?.log?.messages ?? []
            guard messages != log else { return nil }
            return "\(client.user): \(conversation): the list has \(messages.count) messages,"
                + " the log \(log.count), or they differ"
        }
    }
}

extension ClientSwarm {
    /// Lets everybody live until something holds; none of the watchers may take a hole for silence
    /// meanwhile.
    ///
    /// - Returns: Whether it came to hold in time.
    /// - Throws: what a client throws.
    func live(
        _ deadline: Deadline, _ watchers: [Watcher], _ ledger: Ledger,
        until condition: () throws -> Bool
    ) throws -> Bool {
        while !deadline.isOver {
            let due = ContinuousClock.now - Faults.deadline - Faults.margin
            try turn(milliseconds: 20)
            for watcher in watchers {
                try watcher.repeatRefused()
                watcher.checkFresh(ledger, at: due)
            }
            if try condition() { return true }
        }
        return false
    }
}
