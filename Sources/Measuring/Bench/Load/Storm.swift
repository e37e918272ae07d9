import JSON

/// The clients that come back, their conversations, and what they hold: client `i` has `K`
/// conversations from `i * K` on, modulo the number of rooms.
struct Storm: Sendable {
    let clients: Int
    let conversations: Int
    let missed: Int
    let rooms: Int
    let held: Int
    /// How many different places there are from which on clients hold messages.
    let depths: Int

    var name: String {
        "N=\(clients) K=\(conversations) M=\(missed)" + (depths > 1 ? " D=\(depths)" : "")
    }

    var parameters: [(name: String, value: Int)] {
        [
            ("clients", clients), ("conversations", conversations), ("missed", missed),
            ("rooms", rooms), ("held", held), ("depths", depths),
        ]
    }

    func rooms(of client: Int) -> [Int] {
        (0..<conversations).map { (client * conversations + $0) % rooms }
    }

    /// The place of a client's `have` among those of a room.
    func depth(of client: Int) -> Int { client / rooms % depths }

    func title(of room: Int) -> String { "bench-\(room)" }

    /// Creates the rooms with the held messages, records the heads, and adds the missed messages.
    /// - Returns: by room, the `have`s of its members.
    /// - Throws: `BenchError.failure`
    func prepare(_ api: ServerAPI) throws(BenchError) -> [[[UInt8]]] {
        var users = [[String]](repeating: [], count: rooms)
        for client in 0..<clients {
            for room in rooms(of: client) { users[room].append("user-\(client)") }
        }
        let body = String(repeating: "x", count: 40)
        var haves: [[[UInt8]]] = []
        for room in 0..<rooms {
            try api.create(title(of: room), participants: users[room])
            try api.post(held, to: title(of: room), body: body)
            let head = try api.head(of: title(of: room))
            haves.append(
                (0..<depths).map { depth in
                    var json = JSONWriter()
                    json.beginObject()
                    json.member("head", raw: head)
                    json.member("asOf", raw: head.object?["rev"] ?? .null)
                    json.member("runs", raw: Array("[[\(1 + depth % held),\(held)]]".utf8))
                    json.endObject()
                    return json.bytes
                })
            try api.post(missed, to: title(of: room), body: body)
        }
        return haves
    }
}

/// The resume itself: every client resumes all its conversations in one write, none waits for
/// another, and answers are read as they come.
final class StormRun: FrameReceiver {
    private let swarm: Swarm
    private let storm: Storm
    private let haves: [[[UInt8]]]
    /// By client: when it sent its requests, and how many answers are missing.
    private var starts: [Nanoseconds]
    private var lacking: [Int]
    private var whole = 0
    /// By room and depth: an answer that was examined, from after its id.
    private var known: [[[UInt8]]]
    /// From a client's request to its last answer.
    private(set) var latencies = Histogram()
    private(set) var faults: [String] = []

    /// Clients that send between two reads of answers.
    private static let slice = 32
    private static let firstRequest = 10

    init(_ swarm: Swarm, _ storm: Storm, _ haves: [[[UInt8]]]) {
        self.swarm = swarm
        self.storm = storm
        self.haves = haves
        starts = Array(repeating: 0, count: storm.clients)
        lacking = Array(repeating: storm.conversations, count: storm.clients)
        known = Array(repeating: Array(repeating: [], count: storm.depths), count: storm.rooms)
    }

    /// - Throws: `BenchError.failure` if not all clients are complete in time.
    func resume() throws(BenchError) {
        let deadline = Clock.now() + Swarm.patience
        for client in swarm.clients {
            try ask(client)
            if client.index % Self.slice == 0 { try swarm.turn(for: self, until: 0) }
        }
        while whole < storm.clients {
            try swarm.turn(for: self, until: deadline)
            guard swarm.now < deadline, Clock.now() < deadline else {
                throw .failure("resuming \(storm.clients) clients: \(whole) whole in two minutes")
            }
        }
    }

    private func ask(_ client: Client) throws(BenchError) {
        var frames: [UInt8] = []
        for (place, room) in storm.rooms(of: client.index).enumerated() {
            let request = Request.subscribe(
                id: place + Self.firstRequest, conversation: storm.title(of: room),
                limit: max(1, storm.missed), have: haves[room][storm.depth(of: client.index)])
            frames += Frame.masked(Frame.Opcode.text, request)
        }
        starts[client.index] = Clock.now()
        try swarm.write(frames, to: client)
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        guard let reply = try Reply(payload), reply.id >= Self.firstRequest else { return }
        let place = reply.id - Self.firstRequest
        let room = (client.index * storm.conversations + place) % storm.rooms
        let rest = payload.extracting(reply.rest..<payload.count)
        let depth = storm.depth(of: client.index)
        if !Bytes.areEqual(rest, known[room][depth]) {
            look(into: rest)
            known[room][depth] = Bytes.copy(rest)
        }
        lacking[client.index] -= 1
        guard lacking[client.index] == 0 else { return }
        whole += 1
        latencies.record(swarm.now - starts[client.index])
    }

    private static let inserted = Pattern("\"type\":\"inserted\"")
    private static let noGaps = Pattern("\"gaps\":[]")
    private static let reset = Pattern("\"reset\":true")

    private func look(into answer: Span<UInt8>) {
        if Bytes.count(of: Self.inserted, in: answer) != storm.missed {
            note("an answer does not hold what was missed")
        }
        if Bytes.find(Self.noGaps, in: answer) == nil { note("an answer has gaps") }
        if Bytes.find(Self.reset, in: answer) != nil { note("a have was not confirmed") }
    }

    private func note(_ fault: String) {
        if !faults.contains(fault) { faults.append(fault) }
    }
}
