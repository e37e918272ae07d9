import TestSupport

/// A client of a soak, on a phone that is carried about: it comes with a token to one of the
/// gateways, subscribes with what it holds, reads, writes until it is answered, goes and comes
/// back. A slow one also stops reading. One thread's.
final class Guest {
    enum State {
        case away(until: ContinuousClock.Instant)
        case arriving
        case here
    }

    /// What the answer to a request decides.
    enum Question {
        case connect
        case refresh
        case subscribe(String)
        case leave(String)
        case write
        case other
    }

    /// A change that is asked for again until it is answered: the content of a message changes at
    /// most once, so that a request that arrives late changes nothing.
    struct Writing {
        let conversation: String
        let method: String
        let params: JSONValue
        /// The place of the message that it changes.
        var seq: Int?
        /// Since when it has been refused.
        var since = ContinuousClock.now
        var nextTry = ContinuousClock.now
    }

    /// How a guest lives.
    enum Mood {
        case lively
        /// It stays, and reads all that there is.
        case calm
        /// It does not even write.
        case still
    }

    /// What the guests of one soak came to.
    struct Figures {
        var visits = 0
        var resumes = 0
        var refreshes = 0
        var expiries = 0
        var drains = 0
        var slowGaps = 0
        var removals = 0
        var writes = 0

        mutating func add(_ other: Figures) {
            visits += other.visits
            resumes += other.resumes
            refreshes += other.refreshes
            expiries += other.expiries
            drains += other.drains
            slowGaps += other.slowGaps
            removals += other.removals
            writes += other.writes
        }
    }

    let client: ChatTestClient
    let user: String
    let isSlow: Bool
    let conversations: [String]
    let witness: Witness
    let house: House
    var state = State.arriving
    var upstream = ""
    var figures = Figures()
    var asked: [Int: Question] = [:]
    var random: SplitMix64
    var writing: Writing?
    /// Own messages that were not changed yet, the newest last.
    var living: [(conversation: String, id: String, seq: Int, at: ContinuousClock.Instant)] = []
    var count = 0
    var nextLook = ContinuousClock.now
    /// When its token runs out, and whether it means to get another before.
    var expiry = ContinuousClock.now
    var refreshes = true
    /// For how long its tokens are good.
    private var lifetimes = 12...40
    /// Until when it reads nothing.
    var restsUntil = ContinuousClock.now
    /// Until when the disk of a gateway is full, or was just now.
    var bearsFullDiskUntil = ContinuousClock.now
    /// When the gateway that says farewell wants it back.
    var slot: ContinuousClock.Instant?
    private var silent: Set<Int> = []
    private(set) var faults: [String] = []

    /// What all guests share.
    struct House {
        let gateways: [GatewayProcess]
        let keys: Keys
        let ledger: Ledger
        let bodies: [String]
    }

    /// - Throws: what the client throws.
    init(_ user: String, _ conversations: [String], in house: House, isSlow: Bool, seed: UInt64)
        throws
    {
        self.user = user
        self.conversations = conversations
        self.house = house
        self.isSlow = isSlow
        random = SplitMix64(seed: seed)
        witness = Witness(user: user)
        let port = house.gateways[Int(seed % 2)].port
        client = try ChatTestClient(port: port, receiveBuffer: isSlow ? 4096 : nil)
        client.records = true
        client.onFrame = { [unowned self] in try took($0) }
        try arrive()
    }

    var isHere: Bool { if case .here = state { true } else { false } }
    var isResting: Bool { ContinuousClock.now < restsUntil }

    func accuse(_ fault: String) {
        if faults.count < 5 { faults.append("\(user): \(fault)") }
    }

    // MARK: - Coming and going

    /// Says `connect` on the connection that was just made.
    func arrive() throws {
        asked = [:]
        state = .arriving
        figures.visits += 1
        refreshes = random.happens(70)
        asked[try client.send("connect", ["token": .string(nextToken())])] = .connect
    }

    func nextToken() -> String {
        let seconds = Int.random(in: lifetimes, using: &random)
        expiry = .now + .seconds(seconds)
        return house.keys.token(user, seconds: seconds)
    }

    /// From here on it has tokens that last, the first as soon as it looks.
    func settle() {
        lifetimes = 1200...1200
        (expiry, refreshes) = (.now, true)
    }

    /// It is there to be asked, and stays.
    var isSettled: Bool { isHere && asked.isEmpty && expiry > .now + .seconds(600) }

    /// Falls off the network, and comes back after a while.
    func cut(_ time: Duration) {
        client.disconnect()
        state = .away(until: .now + time)
    }

    /// The gateway has closed, or is gone.
    func wasLeft() {
        let code = client.connection.closeCode
        switch code {
        case 3001: figures.expiries += 1
        case 3000: figures.drains += 1
        case nil: break
        default: accuse("closed with \(code ?? 0)")
        }
        client.disconnect()
        let soon = ContinuousClock.now + .milliseconds(Int.random(in: 50...600, using: &random))
        state = .away(until: max(slot ?? soon, soon))
        slot = nil
    }

    /// To one of the gateways, whichever is there.
    func comeBack() {
        let port = house.gateways[Int.random(in: 0...1, using: &random)].port
        do {
            try client.reopen(port: port)
            try arrive()
        } catch {
            // It is down or drains.
            client.disconnect()
            state = .away(until: .now + .milliseconds(400))
        }
    }

    // MARK: - What comes

    private func took(_ frame: JSONValue) throws {
        guard let id = frame["id"].int else { return tookEvent(frame) }
        _ = client.takeCachedReply(to: id)
        guard frame["cached"].bool != true, let question = asked.removeValue(forKey: id) else {
            return
        }
        _ = client.takeReply(to: id)
        let result = frame["result"]
        for gap in result["gaps"].array ?? [] where gap["cause"] == "slow" { figures.slowGaps += 1 }
        guard frame["error"].isNull else { return refused(question, frame["error"]) }
        switch question {
        case .connect:
            state = .here
            upstream = result["upstream"]["state"].string ?? ""
        case .refresh: figures.refreshes += 1
        case .subscribe(let conversation):
            // Nothing is ever lost here, but what the origin can't confirm while it is away.
            if result["reset"].bool == true, result["open"].bool != true {
                accuse("\(conversation) was reset at \(result["head"]), and lost nothing")
            }
        case .write: wrote(result["message"])
        case .leave, .other: break
        }
    }

    private func refused(_ question: Question, _ error: JSONValue) {
        // It may have been taken out of the conversation, or the origin be away; nothing else, but
        // that a gateway whose disk is full can't begin to hold a conversation.
        let code = error["code"].string ?? ""
        let isFull = code == "internal" && error["retry"] == "later" && .now < bearsFullDiskUntil
        guard isFull || ["not_found", "origin_unavailable"].contains(code) else {
            return accuse("\(question): \(error)")
        }
        guard case .write = question, let since = writing?.since else { return }
        // What it would change was trimmed while it could not.
        if code == "not_found", let seq = writing?.seq, let id = writing?.conversation,
            seq < client.holder(id).head["floor"].int ?? 0
        {
            writing = nil
            return
        }
        writing?.nextTry = .now + .milliseconds(300)
        if ContinuousClock.now - since > .seconds(90) { accuse("can't write: \(error)") }
    }

    private func wrote(_ message: JSONValue) {
        guard let writing else { return }
        self.writing = nil
        figures.writes += 1
        house.ledger.note(writing.conversation, message)
        guard writing.method == "sendMessage" else { return }
        living.append(
            (writing.conversation, message["id"].string ?? "", message["seq"].int ?? 0, .now))
        if living.count > 20 { living.removeFirst() }
    }

    private func tookEvent(_ event: JSONValue) {
        for gap in event["gaps"].array ?? [] where gap["cause"] == "slow" { figures.slowGaps += 1 }
        switch event["event"].string {
        case "upstream": upstream = event["state"].string ?? ""
        case "goaway": slot = .now + .milliseconds(event["reconnectIn"].int ?? 0)
        case "unsubscribed": figures.removals += 1
        case "reset": accuse("\(event["conversation"]) was reset, and lost nothing")
        default: break
        }
    }

    // MARK: - Judgements

    /// What was acknowledged before `moment` is applied, or known to be missing, or lies above the
    /// `asOf` of a conversation that it was told is open.
    func checkFresh(at moment: ContinuousClock.Instant) {
        guard isHere, upstream == "online", !client.connection.hasEnded else { return }
        // Who has rested finds much in the kernel, and has not read it yet.
        guard restsUntil + .seconds(8) < .now else { return }
        for conversation in conversations {
            let holder = client.holder(conversation)
            for entry in house.ledger.silent(conversation, to: holder, at: moment)
            where silent.insert(entry.rev).inserted {
                accuse(
                    "\(conversation): change \(entry.rev) of slot \(entry.seq) is silent"
                        + " (asOf \(holder.asOf))")
            }
        }
    }

    /// Whether it is at the present of all its conversations, as far as the gateway brings that.
    func isWhole(_ heads: [String: Int]) -> Bool {
        isHere && upstream == "online" && writing == nil
            && conversations.allSatisfy {
                let holder = client.holder($0)
                return holder.isSubscribed && !holder.isOpen && holder.asOf >= heads[$0] ?? 0
            }
    }

    /// Where it stands, for the report of a failure.
    var standing: String {
        let holders = conversations.map {
            let holder = client.holder($0)
            return "\($0) \(holder.isSubscribed ? "" : "not subscribed, ")asOf \(holder.asOf)"
                + (holder.isOpen ? " open" : "")
        }
        let place = client.port == house.gateways[0].port ? "near" : "far"
        return "\(user) at \(place) \(state) \(upstream)\(writing == nil ? "" : ", writes"): "
            + holders.joined(separator: ", ")
    }
}
