/// Publishers send into rooms, each message into the next one; each subscriber reads one room.
/// Every delivery is checked: each subscriber gets each message of its room once, in order. In a
/// closed loop a message is in flight until its sender has the answer and every subscriber the
/// event; in an open loop it is sent on schedule, and its latency counts from when it was due.
final class FanoutRun: FrameReceiver {
    /// One message in flight.
    private struct Flight {
        let start: Nanoseconds
        /// The number of subscribers that do not have it, plus one while its sender has no answer.
        var missing: Int32
    }

    /// Latencies are recorded of the messages that were due in this window.
    private struct Window {
        var span: Range<Nanoseconds> = 0..<0
        private(set) var latencies = Histogram()

        mutating func record(_ start: Nanoseconds, arrivedAt now: Nanoseconds) {
            if span.contains(start) { latencies.record(now - start) }
        }
    }

    let swarm: Swarm
    private let plan: FanoutPlan
    private let publishers: Range<Int>
    /// The format of messages to a peer; nil if the server is a gateway, which gets requests.
    private let wire: PeerWire?
    /// By room.
    private var ledgers: [DeltaLedger]
    private var flights: [Flight] = []
    /// By subscriber, the seq of its last message.
    private var last: [Int]
    private let base: Int

    private(set) var deliveries = 0
    private(set) var completed = 0
    private(set) var answered = 0
    /// The bytes of the delivered events.
    private(set) var bytes = 0
    private var window = Window()
    private(set) var faults: [String] = []

    var published: Int { flights.count }
    var latencies: Histogram { window.latencies }

    /// - Parameters:
    ///   - base: the head's seq when the clients subscribed.
    ///   - publishers: the publishing clients, if they do not directly follow the subscribers.
    ///   - wire: the format of messages, if the server is not a gateway.
    init(
        _ swarm: Swarm, _ plan: FanoutPlan, base: Int, publishers: Range<Int>? = nil,
        wire: PeerWire? = nil
    ) {
        self.swarm = swarm
        swarm.isAwake = true
        for client in swarm.clients.prefix(plan.subscribers) { client.socket?.becomeListener() }
        self.plan = plan
        self.base = base
        self.wire = wire
        ledgers = (0..<plan.rooms).map { _ in
            DeltaLedger(isNumbered: wire == nil, size: plan.rooms == 1 ? 4096 : 64)
        }
        self.publishers =
            publishers ?? plan.subscribers..<(plan.subscribers + plan.publishers)
        last = Array(repeating: base, count: plan.subscribers)
        flights.reserveCapacity(1 << 20)
    }

    // MARK: The load

    /// Publishes for a span of time.
    /// - Parameter measuring: whether latencies of these messages are recorded.
    /// - Throws: `BenchError.failure`
    func publish(for span: Nanoseconds, measuring: Bool) throws(BenchError) {
        let start = Clock.now()
        let end = start + span
        if measuring { window.span = start..<end }
        switch plan.load {
        case .inFlight(let width):
            while Clock.now() < end {
                while flights.count - completed < width { try send(due: Clock.now()) }
                try swarm.turn(for: self, until: end)
            }
        case .bursts(let width):
            while Clock.now() < end {
                if completed == flights.count {
                    for _ in 0..<width { try send(due: Clock.now()) }
                }
                try swarm.turn(for: self, until: end)
            }
        case .perSecond(let rate):
            var count = 0
            while Clock.now() < end {
                var due = start + count * Clock.second / rate
                while due < end, due <= Clock.now() {
                    try send(due: due)
                    count += 1
                    due = start + count * Clock.second / rate
                }
                try swarm.turn(for: self, until: min(due, end))
            }
        }
    }

    /// Waits until everything published has arrived everywhere, at most for `span`.
    /// - Throws: `BenchError.failure`
    func settle(for span: Nanoseconds) throws(BenchError) {
        let end = Clock.now() + span
        while completed < flights.count, Clock.now() < end {
            try swarm.turn(for: self, until: end)
        }
    }

    private func send(due: Nanoseconds) throws(BenchError) {
        let number = flights.count
        let room = number % plan.rooms
        let answers = wire.map { $0.isAcknowledged ? 1 : 0 } ?? 1
        flights.append(Flight(start: due, missing: Int32(plan.members(of: room) + answers)))
        // A peer identifies a room by the connection, unless it parses its input.
        let isByRoom = wire.map { !$0.namesRooms } ?? false
        let place = isByRoom ? room : number
        let client = swarm.clients[publishers.lowerBound + place % publishers.count]
        try swarm.send(payload(number, room), to: client)
    }

    private func payload(_ number: Int, _ room: Int) -> [UInt8] {
        if let wire { return wire.message(number, room: room) }
        return Request.sendMessage(
            id: number + Self.firstRequest, conversation: plan.conversation(room),
            message: "\(DeltaLedger.prefix)\(number)", body: plan.body)
    }

    /// Above the ids of the requests that set the clients up.
    private static let firstRequest = 10

    // MARK: What comes

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        let isPublisher = client.index >= plan.subscribers
        guard let wire, wire.isNATS else {
            guard isPublisher else { return delivered(payload, to: client) }
            guard let reply = try Reply(payload) else { return }
            return answered(reply.id - Self.firstRequest)
        }
        var place = 0
        while let message = NATS.next(in: payload, from: &place) {
            if !isPublisher {
                delivered(payload.extracting(message.payload), to: client)
            } else if let number = message.acknowledged {
                guard NATS.isStored(payload.extracting(message.payload)) else {
                    throw .failure("publishing to the peer: a message is not stored")
                }
                answered(number)
            }
        }
    }

    private func answered(_ message: Int) {
        answered += 1
        arrived(message)
    }

    private func delivered(_ payload: Span<UInt8>, to client: Client) {
        let expected = last[client.index] + 1
        let room = plan.room(of: client.index)
        guard let deltas = ledgers[room].deltas(in: payload, expecting: expected) else {
            return noteOther(payload)
        }
        bytes += payload.count
        deliveries += deltas.count
        for delta in deltas {
            if delta.seq != last[client.index] + 1 {
                note("a subscriber got a message out of its order")
            }
            last[client.index] = delta.seq
            guard flights.indices.contains(delta.message) else { continue }
            if delta.message % plan.rooms != room {
                note("a subscriber got a message of another room")
            }
            window.record(flights[delta.message].start, arrivedAt: swarm.now)
            arrived(delta.message)
        }
    }

    private func arrived(_ message: Int) {
        guard flights.indices.contains(message) else { return }
        flights[message].missing -= 1
        if flights[message].missing == 0 { completed += 1 }
    }

    private static let gap = Pattern("{\"event\":\"gap\"")

    private func noteOther(_ payload: Span<UInt8>) {
        if Bytes.find(Self.gap, in: payload.extracting(first: Self.gap.count)) == 0 {
            note("a subscriber got a gap")
        }
    }

    private func note(_ fault: String) {
        if !faults.contains(fault) { faults.append(fault) }
    }

    /// The faults at the end, in addition to those noticed before.
    func finalFaults() -> [String] {
        var all = faults
        if wire.map(\.isAcknowledged) ?? true, answered != published {
            all.append("\(published - answered) messages unanswered")
        }
        let sent = (0..<plan.rooms).map { (published + plan.rooms - 1 - $0) / plan.rooms }
        let expected = sent.indices.reduce(0) { $0 + sent[$1] * plan.members(of: $1) }
        if deliveries != expected { all.append("\(deliveries) deliveries of \(expected)") }
        let behind = last.indices.count { last[$0] != base + sent[plan.room(of: $0)] }
        if behind > 0 { all.append("\(behind) subscribers are not at the head") }
        return all
    }
}
