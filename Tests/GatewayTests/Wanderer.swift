import TestSupport

/// A client that does whatever a client may do, at random: subscribes and resumes, reads pages,
/// types, marks as read, drops its connection; a slow one also stops reading for a while.
final class Wanderer {
    let client: ChatTestClient
    let isSlow: Bool
    /// Things done.
    private(set) var moves = 0
    /// Gaps that it got for being slow.
    private(set) var slowGaps = 0
    private var random: SplitMix64
    /// Requests on their way, and the conversation that the answer begins or ends a subscription
    /// of.
    private var asked: [Int: (begins: String?, ends: String?)] = [:]
    private var traces: [String: SubscriptionTrace] = [:]
    /// How many messages there are; tells it for how long it has rested.
    var poured = 0
    private var restsUntil = 0

    init(_ client: ChatTestClient, isSlow: Bool, seed: UInt64) {
        self.client = client
        self.isSlow = isSlow
        random = SplitMix64(seed: seed)
        client.onFrame = { [unowned self] in try took($0) }
    }

    /// It reads nothing for now.
    var isResting: Bool { poured < restsUntil }

    /// Does something, if it waits for little.
    ///
    /// - Throws: what the client throws.
    func move() throws {
        guard !isResting, asked.count < 3, random.happens(30),
            let id = LiveGateway.RecordedRun.conversations.randomElement(using: &random)
        else { return }
        moves += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: try subscribe(id)
        case 30..<36:
            let request = try client.send("unsubscribeMessages", ["conversation": .string(id)])
            asked[request] = (nil, id)
        case 36..<70: try ask("fetchMessages", client.randomPage(of: id, using: &random))
        case 70..<80:
            try ask("typing", ["conversation": .string(id), "state": "begin"])
        case 80..<88:
            let seq = client.holder(id).head["seq"].int ?? 0
            try ask("markRead", ["conversation": .string(id), "seq": .int(seq)])
        case 88..<90:
            asked = [:]
            traces = [:]
            try client.reconnect()
        default:
            if isSlow { restsUntil = poured + Int.random(in: 30...400, using: &random) }
        }
    }

    /// Leaves the conversation, unless it is not in it.
    ///
    /// - Returns: Whether it was.
    /// - Throws: `TestFailure` where no answer comes.
    func leave(_ id: String) throws -> Bool {
        do {
            try client.request("leaveConversation", ["conversation": .string(id)])
            return true
        } catch let error as ChatTestClient.RequestFailed where error.code == "not_found" {
            return false
        }
    }

    /// Reads on and waits for all that it asked for.
    ///
    /// - Throws: `TestFailure` where an answer does not come.
    func settle() throws {
        restsUntil = 0
        guard try client.wait(until: { _ in asked.isEmpty }) else {
            throw TestFailure("\(client.user): \(asked.count) answers did not come")
        }
    }

    private func subscribe(_ id: String) throws {
        var params = client.subscription(id, limit: Int.random(in: 1...60, using: &random))
        if random.happens(10) { params["have"] = .null }
        asked[try client.send("subscribeMessages", params)] = (id, nil)
    }

    private func ask(_ method: String, _ params: JSONValue) throws {
        asked[try client.send(method, params)] = (nil, nil)
    }

    private func took(_ frame: JSONValue) throws {
        for gap in frame["gaps"].array ?? [] where gap["cause"] == "slow" { slowGaps += 1 }
        guard let id = frame["id"].int else { return try tookEvent(frame) }
        guard frame["cached"].bool != true, let answered = asked.removeValue(forKey: id) else {
            return
        }
        if frame["error"].isNull {
            answered.ends.map { traces[$0] = nil }
            guard let id = answered.begins else { return }
            traces[id] = try SubscriptionTrace(answer: frame["result"], mayBeShed: isSlow)
        } else if frame["error"]["code"] != "not_found" {
            // It may have been taken out of the conversation meanwhile, but nothing else.
            throw TestFailure("\(client.user): \(frame["error"])")
        }
    }

    private func tookEvent(_ event: JSONValue) throws {
        let id = event["conversation"].string ?? event["conversation"]["id"].string ?? ""
        switch event["event"].string {
        case "messages", "gap", "conversation": try traces[id]?.take(event)
        case "unsubscribed": traces[id] = nil
        default: break
        }
    }
}
