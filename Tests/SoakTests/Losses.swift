import TestSupport

/// Logs that really lose something, in conversations of their own, and those who watch them and
/// come back to them. Everybody who holds what was lost is told to forget it, and nobody is told to
/// without a loss that was made: neither these readers, nor by the gateways' own logs anybody else.
final class Losses {
    enum Kind: String, CaseIterable {
        case ended = "a log lost its end"
        case emptied = "a log was emptied"
    }

    static let ids = ["lossy-0", "lossy-1"]
    private static let parts = [
        "meta", "marks", "messages", "changes", "ids", "members", "reads", "deleted", "trimmed",
    ]

    /// Somebody who holds the logs, at one of the gateways.
    private final class Reader {
        let client: ChatTestClient
        let user: String
        let place: Int
        /// Whether it is there when something is lost; otherwise it comes back behind it.
        let stays: Bool
        /// How many losses of a log it has been told of, or had not seen anything before.
        var knows: [String: Int] = [:]
        private(set) var isHere = false
        /// It is to subscribe: it has just come, or its subscription was ended.
        var isOut = false

        init(_ user: String, at port: Int, _ place: Int, stays: Bool) throws {
            client = try ChatTestClient(port: port)
            client.queuesEvents = false
            self.user = user
            self.place = place
            self.stays = stays
            leave()
        }

        func leave() {
            client.disconnect()
            isHere = false
        }

        /// Connects it if it is not connected, to a gateway that may not be there at the moment.
        /// - Returns: whether it is.
        func isBack(at port: Int, _ token: String) -> Bool {
            if isHere, !client.connection.hasEnded { return true }
            do {
                try client.reopen(port: port)
                try client.connect(user: user, token: token)
            } catch {
                leave()
                return false
            }
            (isHere, isOut) = (true, true)
            return true
        }
    }

    private var readers: [Reader] = []
    private var made: [String: Int] = [:]
    private(set) var counts: [Kind: Int] = [:]
    /// How often a reader was told to forget, and by an answer that said that it may be wrong.
    private(set) var told = 0
    private(set) var unsure = 0
    private(set) var faults: [String] = []
    private var turn = 0

    private func accuse(_ fault: String) { if faults.count < 10 { faults.append(fault) } }

    // MARK: - A loss

    /// Makes one, and has everybody come to the end of what is there then.
    ///
    /// - Throws: what a client or a process throws.
    func strike(_ stage: Stage) throws {
        let id = Self.ids[turn % Self.ids.count]
        let kind = Kind.allCases[turn / Self.ids.count % Kind.allCases.count]
        turn += 1
        try admit(stage)
        try put(id, stage)
        try say(5, to: id, stage)
        try expectWhole(readers, id, stage)
        if kind == .ended {
            try run(Self.keep, on: id, stage)
            try say(4, to: id, stage)
            try expectWhole(readers, id, stage)
        }
        for reader in readers where !reader.stays { reader.leave() }
        made[id, default: 0] += 1
        counts[kind, default: 0] += 1
        try run(kind == .ended ? Self.windBack : Self.drop, on: id, stage)
        if kind == .emptied { try put(id, stage) }
        try say(2, to: id, stage)
        try expectWhole(readers.filter(\.stays), id, stage)
        try expectWhole(readers, id, stage)
        try judge(id, kind, stage)
        for reader in readers { reader.leave() }
    }

    private static let keep = """
        for _, key in ipairs(KEYS) do
          redis.call('DEL', key .. '-kept')
          redis.call('COPY', key, key .. '-kept')
        end
        """
    private static let windBack = """
        for _, key in ipairs(KEYS) do
          redis.call('DEL', key)
          redis.call('COPY', key .. '-kept', key)
        end
        """
    private static let drop = "redis.call('DEL', unpack(KEYS))"

    private func run(_ script: String, on id: String, _ stage: Stage) throws {
        let keys = Self.parts.map { "gapless:{\(id)}:\($0)" }
        try stage.redis.server.ask(["EVAL", script, "\(keys.count)"] + keys)
    }

    private func put(_ id: String, _ stage: Stage) throws {
        let people = JSONValue.array(readers.map { .string($0.user) })
        let api = stage.far.api(learnsWrites: false)
        try ServerAPI.insist { try api.put(id, ["participants": people]) }
    }

    private func say(_ count: Int, to id: String, _ stage: Stage) throws {
        let api = stage.far.api(learnsWrites: false)
        for place in 0..<count {
            let name = "loss-\(turn)-\(made[id] ?? 0)-\(count)-\(place)"
            let line: JSONValue = ["id": .string(name), "author": "loser", "body": .string(name)]
            try ServerAPI.insist { try api.post(line, to: id) }
        }
    }

    // MARK: - Readers

    private func admit(_ stage: Stage) throws {
        guard readers.isEmpty else { return }
        for (place, gateway) in stage.gateways.enumerated() {
            for stays in [true, false] {
                let reader = try Reader(
                    "loser-\(readers.count)", at: gateway.port, place, stays: stays)
                reader.client.onFrame = { [unowned self, unowned reader] in took($0, reader) }
                readers.append(reader)
            }
        }
    }

    /// Subscribes a reader that is out, as any client does, and again where that is refused for
    /// now.
    private func subscribe(_ reader: Reader, to id: String) throws {
        guard reader.isOut else { return }
        let held = !reader.client.holder(id).head.isNull
        if !held { reader.knows[id] = made[id] ?? 0 }
        do {
            let answer = try reader.client.subscribe(id)
            reader.isOut = false
            guard answer["reset"].bool == true else { return }
            if answer["open"].bool == true { unsure += 1 } else { forgot(id, reader) }
        } catch let error as ChatTestClient.RequestFailed {
            guard ["origin_unavailable", "not_found"].contains(error.code) else { throw error }
        }
    }

    private func took(_ frame: JSONValue, _ reader: Reader) {
        guard ["reset", "unsubscribed"].contains(frame["event"]),
            let id = frame["conversation"].string
        else { return }
        reader.isOut = true
        forgot(id, reader)
    }

    private func forgot(_ id: String, _ reader: Reader) {
        told += 1
        if reader.knows[id] ?? 0 >= made[id] ?? 0 {
            accuse("\(reader.user) is told to forget \(id), and nothing of it was lost")
        }
        reader.knows[id] = made[id]
    }

    private func expectWhole(_ some: [Reader], _ id: String, _ stage: Stage) throws {
        let api = stage.far.api(learnsWrites: false)
        var head = JSONValue.null
        let isWhole = try stage.live(.seconds(30)) {
            // A log that has lost its end gets another epoch a little later.
            head = try ServerAPI.insist {
                try api.call("POST", "/v1/heads", ["ids": [.string(id)]])["heads"][id]
            }
            return try some.allSatisfy { reader in
                let token = stage.keys.token(reader.user, seconds: 300)
                guard reader.isBack(at: stage.gateways[reader.place].port, token) else {
                    return false
                }
                try reader.client.pump()
                try subscribe(reader, to: id)
                let holder = reader.client.holder(id)
                // Who stands above the end of the log holds what is gone.
                return holder.isSubscribed && !holder.isOpen && !reader.isOut
                    && holder.epoch == head["epoch"].string
                    && holder.asOf == head["rev"].int
            }
        }
        if !isWhole {
            let late = some.map {
                "\($0.user) asOf \($0.client.holder(id).asOf) of \($0.client.holder(id).head)"
            }
            accuse("\(id) is not whole at \(head): \(late.joined(separator: "; "))")
        }
    }

    /// Everybody was told of the loss, and holds what is there now.
    private func judge(_ id: String, _ kind: Kind, _ stage: Stage) throws {
        let latest = try stage.far.api(learnsWrites: false).page(id, "limit=5")
        let log = Array((latest["messages"].array ?? []).reversed())
        if log.isEmpty { accuse("\(id) is empty") }
        for reader in readers {
            if reader.knows[id] != made[id] {
                accuse("\(reader.user) was not told that \(id) lost something (\(kind.rawValue))")
            }
            if reader.client.holder(id).messages.suffix(log.count) != log[...] {
                accuse("\(reader.user) does not hold the end of \(id) (\(kind.rawValue))")
            }
        }
    }

    // MARK: - What the gateways say

    /// What is wrong, also of resets of others by the gateways' logs.
    func judge(_ gateways: [GatewayProcess]) -> [String] {
        var found = faults
        let lines = gateways.flatMap { $0.log.split(separator: "\n") }
        for line in lines where line.contains("told to forget") || line.contains("a new epoch: ") {
            let isOfLoss = Self.ids.contains { line.contains($0) && made[$0] ?? 0 > 0 }
            // Nobody could say in time, which is no loss; its readers judge whether it was open.
            if isOfLoss || line.contains("unanswered") { continue }
            found.append("no loss was made that accounts for: \(line)")
        }
        let forks = lines.filter { $0.contains("a new epoch: ") }.count
        if forks > counts[.ended] ?? 0 {
            found.append("\(forks) new epochs for \(counts[.ended] ?? 0) losses")
        }
        return found
    }

    /// What it came to.
    func line(_ gateways: [GatewayProcess]) -> String {
        let lines = gateways.flatMap { $0.log.split(separator: "\n") }
        let resets = lines.filter { $0.contains("told to forget") }
        let other = resets.filter { line in !Self.ids.contains { line.contains($0) } }
        let made = Kind.allCases.map { "\($0.rawValue) \(counts[$0] ?? 0)" }
        return
            "losses made: \(made.joined(separator: ", ")) | told of them \(told), unsure \(unsure)"
            + " | resets logged \(resets.count), of other logs \(other.count) (unanswered)"
            + " | new epochs \(lines.filter { $0.contains("a new epoch: ") }.count)"
    }
}
