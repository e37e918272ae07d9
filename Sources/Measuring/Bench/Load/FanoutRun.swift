/// Publishers send into one conversation, subscribers read, and each delivery is checked: each
/// subscriber gets each message once, in order. In a closed loop a message is in flight until its
/// sender has the answer and every subscriber the event; in an open loop it is sent by the clock,
/// and its latency counts from when it was due.
final class FanoutRun: FrameReceiver {
    /// One message on its way.
    private struct Flight {
        let start: Nanoseconds
        /// Subscribers that do not have it, and its sender without the answer of a gateway.
        var missing: Int32
    }

    let swarm: Swarm
    private let plan: FanoutPlan
    private let subscribers: Int
    private let publishers: Range<Int>
    /// The bytes of a message that a peer is to hand on; nil where the server is a gateway, whose
    /// messages are requests, with answers.
    private let peerBytes: Int?
    private let isNATS: Bool
    private var ledger: DeltaLedger
    private var flights: [Flight] = []
    /// By subscriber: the seq of the last message that it has.
    private var last: [Int]
    private let base: Int

    private(set) var deliveries = 0
    private(set) var completed = 0
    private(set) var answered = 0
    /// Bytes of the events that were delivered.
    private(set) var bytes = 0
    private(set) var latencies = Histogram()
    /// Latencies are kept of the messages that were due in here.
    private var window: Range<Nanoseconds> = 0..<0
    private(set) var faults: [String] = []

    var published: Int { flights.count }

    /// - Parameters:
    ///   - base: the head's seq when the clients subscribed.
    ///   - publishers: their clients, where these are not the ones behind the subscribers.
    ///   - peerBytes: of a message, where the server is no gateway.
    ///   - isNATS: whether its messages come in the protocol of nats-server.
    init(
        _ swarm: Swarm, _ plan: FanoutPlan, base: Int, publishers: Range<Int>? = nil,
        peerBytes: Int? = nil, isNATS: Bool = false
    ) {
        self.swarm = swarm
        swarm.isAwake = true
        for client in swarm.clients.prefix(plan.subscribers) { client.socket?.becomeListener() }
        self.plan = plan
        self.base = base
        self.peerBytes = peerBytes
        self.isNATS = isNATS
        ledger = DeltaLedger(isNumbered: peerBytes == nil)
        subscribers = plan.subscribers
        self.publishers =
            publishers ?? plan.subscribers..<(plan.subscribers + plan.publishers)
        last = Array(repeating: base, count: subscribers)
        flights.reserveCapacity(1 << 20)
    }

    // MARK: The load

    /// Publishes for as long as that.
    /// - Parameter measuring: whether the latencies of what is sent now are kept.
    /// - Throws: `BenchError.failure`
    func publish(for span: Nanoseconds, measuring: Bool) throws(BenchError) {
        let start = Clock.now()
        let end = start + span
        if measuring { window = start..<end }
        switch plan.load {
        case .inFlight(let width):
            while Clock.now() < end {
                while flights.count - completed < width { try send(due: Clock.now()) }
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

    /// Waits until everything published has arrived everywhere, or the time is over.
    /// - Throws: `BenchError.failure`
    func settle(for span: Nanoseconds) throws(BenchError) {
        let end = Clock.now() + span
        while completed < flights.count, Clock.now() < end {
            try swarm.turn(for: self, until: end)
        }
    }

    private func send(due: Nanoseconds) throws(BenchError) {
        let number = flights.count
        let answers = peerBytes == nil ? 1 : 0
        flights.append(Flight(start: due, missing: Int32(subscribers + answers)))
        let place = publishers.lowerBound + number % publishers.count
        try swarm.send(payload(number), to: swarm.clients[place])
    }

    private func payload(_ number: Int) -> [UInt8] {
        guard let peerBytes else {
            return Request.sendMessage(
                id: number + Self.firstRequest, conversation: FanoutPlan.conversation,
                message: "\(DeltaLedger.prefix)\(number)", body: plan.body)
        }
        let event = DeltaLedger.event(number, bytes: peerBytes)
        return isNATS ? NATS.publication(event) : event
    }

    /// Behind the ids of the requests that set the clients up.
    private static let firstRequest = 10

    // MARK: What comes

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        guard client.index < subscribers else {
            guard let reply = try Reply(payload) else { return }
            answered += 1
            return arrived(reply.id - Self.firstRequest)
        }
        guard isNATS else { return delivered(payload, to: client) }
        var place = 0
        while let message = NATS.next(in: payload, from: &place) {
            delivered(payload.extracting(message), to: client)
        }
    }

    private func delivered(_ payload: Span<UInt8>, to client: Client) {
        let expected = last[client.index] + 1
        guard let deltas = ledger.deltas(in: payload, expecting: expected) else {
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
            let start = flights[delta.message].start
            if window.contains(start) { latencies.record(swarm.now - start) }
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

    /// What is missing at the end, beside what was noticed on the way.
    func finalFaults() -> [String] {
        var all = faults
        if peerBytes == nil, answered != published {
            all.append("\(published - answered) messages unanswered")
        }
        let expected = published * subscribers
        if deliveries != expected { all.append("\(deliveries) deliveries of \(expected)") }
        let behind = last.count { $0 != base + published }
        if behind > 0 { all.append("\(behind) subscribers are not at the head") }
        return all
    }
}
