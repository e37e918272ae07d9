import JSON

/// Clients that chat while others are greedy: in rooms of ten, they send messages and read small
/// pages. Each latency counts from when the action was due.
final class Bystanders: FrameReceiver {
    /// The latencies of one slice.
    struct Latencies {
        /// From when a message was due until each member of the room has it.
        var deliveries = Histogram()
        /// From when a request was due until its answer.
        var answers = Histogram()
    }

    static let roomSize = 10

    private let swarm: Swarm
    private let prefix: String
    private var latencies = Latencies()
    /// By request in flight, when it was due.
    private var due: [Int: Nanoseconds] = [:]
    private var nextRequest = 10_000
    /// Deliveries still expected.
    private(set) var undelivered = 0
    /// Refused requests by error code, and ended connections with their reasons.
    private(set) var refused: [String: Int] = [:]
    private(set) var ends: [String] = []

    private static let reply = Pattern("{\"id\":")
    private static let messages = Pattern("{\"event\":\"messages\"")
    private static let error = Pattern(",\"error\":")
    private static let body = Pattern("\"body\":\"due ")

    /// Connects all of them, each in its room.
    /// - Throws: `BenchError.failure`
    init(_ count: Int, _ prefix: String, _ site: Site) throws(BenchError) {
        self.prefix = prefix
        swarm = try Swarm(site.endpoint)
        let api = try site.api()
        let size = Self.roomSize
        for room in 0..<Self.rooms(count) {
            let users = (room * size..<min(count, (room + 1) * size)).map(Self.user)
            try api.create(prefix + "room-\(room)", participants: users)
        }
        let clients = try swarm.open(count)
        try swarm.connect(clients) { Self.user($0) }
        try swarm.ask(clients) {
            Request.subscribe(id: 2, conversation: self.room(of: $0), limit: 1)
        }
    }

    private static func user(_ index: Int) -> String { "bystander-\(index)" }
    private static func rooms(_ count: Int) -> Int { (count + roomSize - 1) / roomSize }
    private func room(of client: Client) -> String {
        prefix + "room-\(client.index / Self.roomSize)"
    }

    /// Chats for a span of time, then waits for what is in flight.
    /// - Parameters:
    ///   - rate: messages a second of all clients together, and as many pages.
    ///   - look: called some times a second.
    /// - Throws: `BenchError.failure`
    func chat(
        for span: Nanoseconds, rate: Int, _ look: () -> Void
    ) throws(BenchError) -> Latencies {
        latencies = Latencies()
        let start = Clock.now() + 10 * Clock.millisecond
        let count = span * rate / Clock.second
        var number = 0
        var lookAt = start
        while number < count {
            let moment = start + number * Clock.second / rate
            while Clock.now() < moment { try swarm.turn(for: self, until: moment) }
            try act(number, due: moment)
            number += 1
            if moment >= lookAt {
                look()
                lookAt = moment + 100 * Clock.millisecond
            }
        }
        let patience = Clock.now() + 30 * Clock.second
        while !due.isEmpty || undelivered > 0, Clock.now() < patience, ends.isEmpty {
            try swarm.turn(for: self, until: Clock.now() + 20 * Clock.millisecond)
        }
        return latencies
    }

    /// One client sends a message, another reads a page.
    private func act(_ number: Int, due moment: Nanoseconds) throws(BenchError) {
        let count = swarm.clients.count
        let (speaker, reader) = (swarm.clients[number % count], swarm.clients[number * 7 % count])
        if speaker.socket != nil {
            let id = next(moment)
            undelivered += members(of: speaker)
            let room = room(of: speaker)
            try swarm.send(
                Request.request(id, "sendMessage") {
                    $0.member("conversation", string: room)
                    $0.member("body", string: "due \(moment)")
                }, to: speaker)
        }
        if reader.socket != nil {
            let id = next(moment)
            let room = room(of: reader)
            try swarm.send(
                Request.request(id, "fetchMessages") {
                    $0.member("conversation", string: room)
                    $0.member("limit", int: 10)
                }, to: reader)
        }
    }

    private func next(_ moment: Nanoseconds) -> Int {
        nextRequest += 1
        due[nextRequest] = moment
        return nextRequest
    }

    private func members(of client: Client) -> Int {
        let first = client.index / Self.roomSize * Self.roomSize
        return min(swarm.clients.count, first + Self.roomSize) - first
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        let head = payload.extracting(first: 64)
        if Bytes.find(Self.reply, in: head) == 0 {
            guard let id = Bytes.number(in: head, at: Self.reply.count),
                let moment = due.removeValue(forKey: id)
            else { return }
            if Bytes.find(Self.error, in: head) != nil {
                let error = (try? JSONObject(Bytes.copy(payload)))?["error"]?.object
                refused[error?["code"]?.string ?? "no code", default: 0] += 1
            }
            return latencies.answers.record(swarm.now - moment)
        }
        guard Bytes.find(Self.messages, in: head) == 0 else { return }
        var at = 0
        while let place = Bytes.find(Self.body, in: payload, from: at) {
            at = place + Self.body.count
            guard let moment = Bytes.number(in: payload, at: at) else { continue }
            undelivered -= 1
            latencies.deliveries.record(swarm.now - moment)
        }
    }

    func ended(_ client: Client, _ reason: String) {
        ends.append("\(client.index): \(reason)")
    }

    /// Deletes the rooms.
    /// - Throws: `BenchError.failure`
    func leave(_ api: ServerAPI) throws(BenchError) {
        for room in 0..<Self.rooms(swarm.clients.count) {
            try api.delete(prefix + "room-\(room)")
        }
    }
}
