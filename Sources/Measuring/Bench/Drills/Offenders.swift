/// The clients of one flood, on a swarm and a thread of their own: their work must not delay the
/// clients whose latencies show the harm.
final class Offenders: FrameReceiver {
    private let flood: Flood
    private let scene: Flood.Scene
    private let swarm: Swarm
    private var toll = Flood.Toll()
    /// The clients that are connected and flood the gateway.
    private var pressing: Set<Int> = []
    private var nextRequest = 1

    private static let rateLimited = Pattern(",\"error\":{\"code\":\"rate_limited\"")
    private static let error = Pattern(",\"error\":")
    /// The size of one write of a flooding client: about what a kernel's buffer takes.
    private static let batch = 64 << 10
    /// The time that the last clients have left.
    private static let patience = 2 * Clock.second

    /// - Throws: `BenchError.failure`
    init(_ flood: Flood, _ scene: Flood.Scene) throws(BenchError) {
        self.flood = flood
        self.scene = scene
        swarm = try Swarm(scene.endpoint)
    }

    /// Floods until a time, then disconnects.
    /// - Throws: `BenchError.failure`
    func run(until end: Nanoseconds) throws(BenchError) -> Flood.Toll {
        switch flood {
        case .requests: try press(1, until: end)
        case .resumes: try press(scene.plan["resumers"], until: end)
        case .trickle: try trickle(until: end)
        case .halfOpen:
            try come(2 * scene.plan["half-open"], perSecond: 2 * Flood.halfOpenPerSecond, end)
        case .connects:
            try come(.max, perSecond: scene.plan["connects"], end)
        }
        toll.left += swarm.clients.count { $0.socket != nil }
        for client in swarm.clients { swarm.cut(client) }
        return toll
    }

    // MARK: - What they do

    /// Connects one client after another, at a fixed rate.
    private func come(_ count: Int, perSecond rate: Int, _ end: Nanoseconds) throws(BenchError) {
        let start = Clock.now()
        while Clock.now() < end {
            let due = (Clock.now() - start) * rate / Clock.second
            while toll.dialled < min(count, due) {
                let isSilent = flood == .halfOpen && toll.dialled % 2 == 0
                try dial(swarm.addUnconnected(), saying: isSilent ? [] : nil)
            }
            let next = start + (toll.dialled + 1) * Clock.second / rate
            try swarm.turn(for: self, until: toll.dialled < count ? min(end, next) : end)
        }
        // The last clients should get their answer before they are cut.
        if flood == .connects { try swarm.turns(for: self, until: end + Self.patience) }
    }

    private func press(_ count: Int, until end: Nanoseconds) throws(BenchError) {
        for _ in 0..<count { try dial(swarm.addUnconnected()) }
        while Clock.now() < end {
            var isFull = true
            for client in swarm.clients where pressing.contains(client.index) {
                guard client.unsent.isEmpty else { continue }
                try say(batch(), client)
                isFull = isFull && !client.unsent.isEmpty
            }
            try swarm.turn(
                for: self, until: isFull ? Clock.now() + 10 * Clock.millisecond : Clock.now())
            // A closed client reconnects.
            for client in swarm.clients where client.socket == nil { try dial(client) }
        }
    }

    private func trickle(until end: Nanoseconds) throws(BenchError) {
        let late = swarm.addUnconnected()
        let slow = swarm.addUnconnected()
        try dial(late, saying: [])
        try dial(slow)
        let connect = Frame.masked(
            Frame.Opcode.text, Request.connect(id: 1, user: Flood.Scene.user(0)))
        var (upgradeSent, connectSent) = (0, 0)
        while Clock.now() < end {
            if late.socket != nil {
                try say(Array(swarm.upgrade.dropFirst(upgradeSent).prefix(1)), late)
                upgradeSent += 1
            }
            if slow.isOpen {
                try say(Array(connect.dropFirst(connectSent).prefix(1)), slow)
                connectSent += 1
            }
            try swarm.turns(for: self, until: min(end, Clock.now() + Clock.second))
        }
    }

    private func dial(_ client: Client, saying: [UInt8]? = nil) throws(BenchError) {
        toll.dialled += 1
        do throws(BenchError) {
            // From another source address than the measured clients: one has some 28,000 ports.
            try swarm.dial(
                client, Socket.Manner(isPatient: true, source: 100), saying: saying)
        } catch let error where error.kind == .ended {
            swarm.cut(client)
            ended(client, error.description)
        }
    }

    private func say(_ bytes: [UInt8], _ client: Client) throws(BenchError) {
        do throws(BenchError) {
            try swarm.write(bytes, to: client)
        } catch let error where error.kind == .ended {
            swarm.cut(client)
            ended(client, error.description)
        }
    }

    // MARK: - What they ask

    private func batch() -> [UInt8] {
        var frames: [UInt8] = []
        while frames.count < Self.batch {
            nextRequest += 1
            frames += Frame.masked(Frame.Opcode.text, request(nextRequest))
        }
        return frames
    }

    private func request(_ id: Int) -> [UInt8] {
        if flood == .requests {
            return Request.fetchMessages(
                id: id, conversation: scene.conversation, before: Flood.Scene.runs, limit: 100)
        }
        // Different each time, so that no answer is shared or cached.
        let asOf = max(1, scene.rev - id % Flood.Scene.runs)
        let have =
            Array(#"{"head":"#.utf8) + scene.head + Array(#","asOf":\#(asOf),"runs":"#.utf8)
            + Self.runs + Array("}".utf8)
        return Request.subscribe(
            id: id, conversation: scene.conversation, limit: 100, have: have)
    }

    /// Every other place, from the first on.
    private static let runs: [UInt8] = {
        let runs = (0..<Flood.Scene.runs).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }
        return Array("[\(runs.joined(separator: ","))]".utf8)
    }()

    // MARK: - What they get

    func opened(_ client: Client) throws(BenchError) {
        guard flood != .halfOpen, flood != .trickle else { return }
        // Flooding clients share the few users who are participants of the conversation.
        let user = Flood.Scene.user(flood == .connects ? client.index : 0)
        try say(
            Frame.masked(Frame.Opcode.text, Request.connect(id: 1, user: user)), client)
    }

    func received(_ payload: Span<UInt8>, on client: Client) {
        let head = payload.extracting(first: 64)
        guard Bytes.find(Self.error, in: head) == nil else {
            if Bytes.find(Self.rateLimited, in: head) == nil {
                toll.errors += 1
            } else {
                toll.limited += 1
            }
            return
        }
        guard Bytes.find(Self.reply, in: head) == 0 else { return }
        toll.results += 1
        if flood == .requests || flood == .resumes { pressing.insert(client.index) }
    }

    private static let reply = Pattern("{\"id\":")

    func ended(_ client: Client, _ reason: String) {
        pressing.remove(client.index)
        if let code = client.closeCode {
            toll.closes[code, default: 0] += 1
        } else {
            toll.dropped += 1
        }
    }
}

extension Swarm {
    /// Turns until a time.
    /// - Throws: as `turn`.
    func turns<Receiver: FrameReceiver>(
        for receiver: Receiver, until moment: Nanoseconds
    ) throws(BenchError) {
        while Clock.now() < moment { try turn(for: receiver, until: moment) }
    }
}
