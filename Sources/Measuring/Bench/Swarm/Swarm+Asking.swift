/// The beginning of every scenario: many connections, and a request on each of them.
extension Swarm {
    /// How many connections or requests are in flight at once: enough to keep the gateway busy,
    /// well below the backlog of its listener.
    static let width = 128

    /// The timeout of anything that is not measured.
    static let patience: Nanoseconds = 120 * Clock.second

    /// Opens `count` further connections, and waits until all are upgraded.
    /// - Parameter saying: the upgrade request; nil for the usual one.
    /// - Returns: their indices.
    /// - Throws: `BenchError.failure`
    @discardableResult
    func open(_ count: Int, saying: [UInt8]? = nil) throws(BenchError) -> Range<Int> {
        try open(count) { _ in saying }
    }

    /// The same, with different upgrade requests.
    /// - Parameter saying: the upgrade request by index among the new connections; nil for the
    ///   usual one.
    /// - Returns: their indices.
    /// - Throws: `BenchError.failure`
    func open(
        _ count: Int, saying: (Int) -> [UInt8]?
    ) throws(BenchError) -> Range<Int> {
        let first = clients.count
        let opening = Opening()
        let deadline = Clock.now() + Self.patience
        while opening.count < count {
            while clients.count - first < min(count, opening.count + Self.width) {
                try add(saying: saying(clients.count - first))
            }
            try turn(for: opening, until: deadline)
            guard now < deadline else {
                throw .failure("opening \(count) connections: \(opening.count) after two minutes")
            }
        }
        return first..<(first + count)
    }

    /// Sends a request on each of the clients and waits for all answers.
    /// - Parameters:
    ///   - isAnswer: whether a frame is the answer, if the server is not a gateway; throws if that
    ///     is an error.
    ///   - answer: gets each answer, which was checked not to be an error.
    /// - Throws: `BenchError.failure`, also for an error reply.
    func ask(
        _ clients: Range<Int>, _ request: (Client) -> [UInt8],
        isAnswer: @escaping (Span<UInt8>) throws(BenchError) -> Bool = Reply.isFinal(_:),
        answer: @escaping (Client, Span<UInt8>) throws(BenchError) -> Void = { _, _ in }
    ) throws(BenchError) {
        let asking = Asking(isAnswer, answer)
        let deadline = Clock.now() + Self.patience
        var next = clients.lowerBound
        while asking.count < clients.count {
            while next < clients.upperBound,
                next - clients.lowerBound - asking.count < Self.width
            {
                try send(request(self.clients[next]), to: self.clients[next])
                next += 1
            }
            try turn(for: asking, until: deadline)
            guard now < deadline else {
                throw .failure("asking \(clients.count) clients: \(asking.count) answered in time")
            }
        }
    }

    /// Sends `connect` on each of the clients.
    /// - Throws: `BenchError.failure`
    func connect(_ clients: Range<Int>, as user: (Int) -> String) throws(BenchError) {
        try ask(clients) { Request.connect(id: 1, user: user($0.index)) }
    }
}

private final class Opening: FrameReceiver {
    private(set) var count = 0

    func opened(_ client: Client) { count += 1 }
    func received(_ payload: Span<UInt8>, on client: Client) {}
}

private final class Asking: FrameReceiver {
    private let isAnswer: (Span<UInt8>) throws(BenchError) -> Bool
    private let answer: (Client, Span<UInt8>) throws(BenchError) -> Void
    private(set) var count = 0

    init(
        _ isAnswer: @escaping (Span<UInt8>) throws(BenchError) -> Bool,
        _ answer: @escaping (Client, Span<UInt8>) throws(BenchError) -> Void
    ) {
        self.isAnswer = isAnswer
        self.answer = answer
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        guard try isAnswer(payload) else { return }
        count += 1
        try answer(client, payload)
    }
}
