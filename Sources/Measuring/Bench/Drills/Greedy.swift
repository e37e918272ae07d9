import JSON

/// The clients of one appetite, on a swarm and a thread of their own. Each sends more requests when
/// it has an answer, and reconnects when it is closed.
final class Greedy: FrameReceiver {
    /// What happened to their requests and connections.
    struct Toll: Sendable {
        var results = 0
        var limited = 0
        var errors: [String: Int] = [:]
        var closes: [Int: Int] = [:]
        var dropped = 0
        /// The conversations that they created.
        var made: Set<String> = []

        static func += (sum: inout Toll, other: Toll) {
            sum.results += other.results
            sum.limited += other.limited
            sum.errors.merge(other.errors, uniquingKeysWith: +)
            sum.closes.merge(other.closes, uniquingKeysWith: +)
            sum.dropped += other.dropped
            sum.made.formUnion(other.made)
        }

        var text: String {
            let errors = errors.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            let closes = closes.sorted { $0.key < $1.key }.map { "\($0.value) closed \($0.key)" }
            let parts = ["\(results) results", "\(limited) limited"] + errors + closes
            return (parts + (dropped > 0 ? ["\(dropped) dropped"] : [])).joined(separator: ", ")
        }
    }

    private struct Guest {
        var isWelcome = false
        var underWay = 0
        /// When it sends requests again.
        var pausedUntil: Nanoseconds = 0
    }

    private let appetite: Appetite
    private let larder: Larder
    private let swarm: Swarm
    private var guests: [Guest]
    private var toll = Toll()
    private var chance: Generator
    private var requests: GreedyRequests
    private var nextRequest = 10

    private static let reply = Pattern("{\"id\":")
    private static let cached = Pattern(",\"cached\":true")
    private static let error = Pattern(",\"error\":")
    private static let look = 5 * Clock.millisecond
    private static let connectRequest = 1
    private static let watchRequest = 2

    /// - Throws: `BenchError.failure`
    init(_ appetite: Appetite, _ larder: Larder, at endpoint: Endpoint) throws(BenchError) {
        self.appetite = appetite
        self.larder = larder
        swarm = try Swarm(endpoint)
        guests = Array(repeating: Guest(), count: appetite.users * appetite.connections)
        chance = Generator(seed: appetite.seed &* 1_000_003)
        requests = GreedyRequests(larder, seed: appetite.seed)
    }

    /// Sends requests until a time, then disconnects.
    /// - Throws: `BenchError.failure`
    func run(until end: Nanoseconds) throws(BenchError) -> Toll {
        for _ in guests { try dial(swarm.addUnconnected()) }
        while Clock.now() < end {
            try swarm.turn(for: self, until: min(end, Clock.now() + Self.look))
            for client in swarm.clients {
                if client.socket == nil {
                    if guests[client.index].pausedUntil <= Clock.now() { try dial(client) }
                } else {
                    try ask(client)
                }
            }
        }
        for client in swarm.clients { swarm.cut(client) }
        toll.made = requests.made
        return toll
    }

    private func dial(_ client: Client) throws(BenchError) {
        guests[client.index] = Guest()
        do throws(BenchError) {
            // From another source address than the measured clients.
            try swarm.dial(client, Socket.Manner(isPatient: true, source: 100))
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

    private func ask(_ client: Client) throws(BenchError) {
        let now = Clock.now()
        // A client whose last request is not sent completely makes no other.
        while client.socket != nil, client.unsent.isEmpty, guests[client.index].isWelcome,
            guests[client.index].underWay < appetite.window, guests[client.index].pausedUntil <= now
        {
            let (greed, size) = appetite.pick(&chance)
            guard greed != .churn else {
                swarm.cut(client)
                guests[client.index].isWelcome = false
                return
            }
            nextRequest += 1
            guests[client.index].underWay += 1
            try say(requests.frames(greed, size, id: nextRequest), client)
        }
    }

    // MARK: - What they get

    func opened(_ client: Client) throws(BenchError) {
        let user = Larder.user(client.index % appetite.users)
        try say(
            Frame.masked(
                Frame.Opcode.text, Request.connect(id: Self.connectRequest, user: user)), client)
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        let head = payload.extracting(first: 64)
        guard Bytes.find(Self.reply, in: head) == 0,
            let id = Bytes.number(in: head, at: Self.reply.count)
        else { return }
        if id == Self.connectRequest {
            return try say(
                Frame.masked(
                    Frame.Opcode.text,
                    Request.subscribe(id: Self.watchRequest, conversation: larder.loud, limit: 1)),
                client)
        }
        if Bytes.find(Self.cached, in: head) != nil { return }
        guests[client.index].isWelcome = true
        if id != Self.watchRequest {
            guests[client.index].underWay = max(0, guests[client.index].underWay - 1)
        }
        guard Bytes.find(Self.error, in: head) != nil else {
            toll.results += 1
            return
        }
        failed(payload, client)
    }

    private func failed(_ payload: Span<UInt8>, _ client: Client) {
        let error = (try? JSONObject(Bytes.copy(payload)))?["error"]?.object
        let code = error?["code"]?.string ?? "no code"
        guard code == "rate_limited" else {
            toll.errors[code, default: 0] += 1
            return
        }
        toll.limited += 1
        if appetite.obeys {
            let pause = (error?["after"]?.int ?? 100) * Clock.millisecond
            guests[client.index].pausedUntil = Clock.now() + pause
        }
    }

    func ended(_ client: Client, _ reason: String) {
        if let code = client.closeCode {
            toll.closes[code, default: 0] += 1
        } else {
            toll.dropped += 1
        }
        guests[client.index] = Guest()
        guests[client.index].pausedUntil = Clock.now() + 100 * Clock.millisecond
    }
}
