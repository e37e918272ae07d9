import Chat
import Engine
import JSON
import Ports
import Simulation
import Wire

/// The engine with an origin beside it and nothing in between: what is written is told at once, a
/// read is answered at once or when the test says so. Time passes when the test says so.
final class Rig {
    let engine: Engine
    /// No clock moves during a turn: it reads until nothing is left to read.
    fileprivate let turns: TurnRunner
    var origin = Origin()
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    /// What each session was sent, oldest first, since it was looked at last.
    private var frames: [SessionID: [JSONObject]] = [:]
    /// How many WebSocket pings each session was sent.
    private(set) var pings: [SessionID: Int] = [:]
    fileprivate(set) var closes: [SessionID: CloseCode] = [:]
    /// Whose sockets are not to be read, or again. The engine still hears what a test sends.
    fileprivate var throttles: [(SessionID, Bool)] = []
    /// What writing the sockets takes in a turn; nil where nobody is told.
    var writing: Duration?
    /// The bytes of one write of a socket, and how many writes each turn had of late.
    var writeSize = Int.max
    var writesOfTurns: [Int] = []
    /// Whether frames come decoded, as from the loops beside the engine's.
    var isDecodingElsewhere = false
    /// Sessions whose sockets take nothing.
    var blocked: Set<SessionID> = []
    /// Sessions whose sockets are another loop's, and those of them whose write is on its way.
    var away: Set<SessionID> = []
    private var travelling: [Session] = []
    /// The origin writes when it is let: `performWrites`.
    var isHoldingWrites = false
    fileprivate var writes: [(token: UInt64, operation: Operation, caller: Caller)] = []
    /// The store answers when it is let: `answerReads`.
    var isHoldingReads = false
    fileprivate var reads: [CacheRead] = []
    /// What the store was asked.
    var queries: [Query] = []
    /// Whom each read that was answered has flushed.
    fileprivate(set) var flushes: [[SessionID]] = []
    private var last: SessionID = 0
    /// Bytes of the frames that each session was sent last.
    private var sizes: [SessionID: Int] = [:]

    init(_ limits: Limits = Limits()) {
        engine = Engine(
            limits: limits, server: ServerIdentity(name: "gapless", version: "0", commit: "0"),
            authenticator: Doorkeeper(), instance: "rig", at: now)
        turns = TurnRunner(engine, budget: ReadBudget(standing: .zero))
    }

    // MARK: - Sessions

    /// A connection that has said nothing yet.
    func open(bearer: String? = nil) -> SessionID {
        last += 1
        engine.connected(last, bearer: bearer, at: now)
        turn()
        return last
    }

    /// A connection that was let in.
    func connect(_ user: String) -> SessionID {
        let session = open()
        send(session, 1, "connect", #""user":"\#(user)""#)
        _ = take(session)
        return session
    }

    /// Sends requests in one turn.
    func send(_ session: SessionID, _ requests: (id: Int, method: String, params: String)...) {
        for request in requests {
            let method = #""method":"\#(request.method)""#
            let text = #"{"id":\#(request.id),\#(method),"params":{\#(request.params)}}"#
            receive(session, text)
        }
        turn()
    }

    func send(_ session: SessionID, _ id: Int, _ method: String, _ params: String = "") {
        send(session, (id, method, params))
    }

    func receive(_ session: SessionID, _ text: String, isBinary: Bool = false) {
        let frame = RequestFrame.read(Array(text.utf8), isBinary: isBinary)
        engine.received(session, isDecodingElsewhere ? frame.decoded() : frame, at: now)
    }

    /// What the session was sent since the last time.
    func take(_ session: SessionID) -> [JSONObject] { frames.removeValue(forKey: session) ?? [] }

    /// How many bytes went to the session when it was last sent something.
    func bytes(of session: SessionID) -> Int { sizes[session] ?? 0 }

    // MARK: - The world around it

    /// Writes to the origin, and has the feed tell of it.
    @discardableResult
    func write(_ operations: Operation..., by caller: Caller = .server) -> [FeedEvent] {
        let events = operations.flatMap { origin.perform($0, by: caller).events }
        engine.feed(events, at: now)
        turn()
        return events
    }

    /// Writes to the origin without a word to the gateway.
    func writeUntold(_ operations: Operation..., by caller: Caller = .server) -> [FeedEvent] {
        operations.flatMap { origin.perform($0, by: caller).events }
    }

    func tell(_ events: [FeedEvent]) {
        engine.feed(events, at: now)
        turn()
    }

    func say(_ bodies: String..., to conversation: String = "c1", by author: String = "ann") {
        write(
            .send(
                conversation: conversation,
                bodies.map { NewMessage(author: author, content: MessageContent(body: $0)) }))
    }

    func create(_ conversation: String = "c1", _ users: [String] = ["ann", "ben"]) {
        write(.put(id: conversation, .init(participants: users)))
    }

    /// Lets time pass, a second at a time, every session's pongs coming in unless it is blocked.
    func pass(_ seconds: Int, answeringPings: Bool = true) {
        for _ in 0..<seconds {
            now.milliseconds += 1000
            engine.tick(at: now)
            turn()
            guard answeringPings else { continue }
            for session in pings.keys where !blocked.contains(session) {
                engine.ponged(session, at: now)
            }
        }
    }

    // MARK: - The turn

    /// The moment on the clock of pacing.
    var instant: Duration { .milliseconds(now.milliseconds) }

    /// Lets so many milliseconds pass, without a tick, and a turn be.
    func wait(_ milliseconds: Int64) {
        now.milliseconds += milliseconds
        turn()
    }

    /// Whose sockets were not to be read, or again, since it was looked at last.
    func takeThrottles() -> [(SessionID, Bool)] {
        defer { throttles = [] }
        return throttles
    }

    func turn() { while turns.run(self) == .now {} }

    fileprivate func perform(_ operation: Operation, by caller: Caller, _ token: UInt64) {
        let performed = origin.perform(operation, by: caller)
        engine.feed(performed.events, at: now)
        engine.performed(token, performed.result, at: now)
    }

    /// Does the first of the writes that were held, or so many, in one turn.
    func performWrites(_ count: Int = 1) {
        performBeforeTurn(count)
        turn()
    }

    /// Their results are there, and no turn has begun yet.
    func performBeforeTurn(_ count: Int) {
        let due = writes.prefix(count)
        writes.removeFirst(due.count)
        for write in due { perform(write.operation, by: write.caller, write.token) }
    }

    fileprivate func look(_ query: Query) -> Result<Answer, RequestError> {
        queries.append(query)
        return origin.archive.answer(query, atCommit: origin.commit, told: origin.commit)
    }

    /// Answers the reads that were held, as of now.
    func answerReads() { finishReads { look($0) } }

    /// Answers the reads that were held with this, whatever they asked.
    func answerReads(with answer: Result<Answer, RequestError>) { finishReads { _ in answer } }

    private func finishReads(_ answer: (Query) -> Result<Answer, RequestError>) {
        let due = reads
        reads = []
        for read in due { turns.finish(read, answer(read.query), at: now, self) }
        turn()
    }

    /// The conversation as the store has it.
    func loaded(_ conversation: String) -> Result<Answer, RequestError> {
        let moment = origin.commit
        return origin.archive.answer(
            .load(conversation: conversation), atCommit: moment, told: moment)
    }

    /// Looks the held reads up now and answers them when the closure has run.
    func answerReads(after body: () -> Void) {
        let answers = reads.map { ($0, look($0.query)) }
        reads = []
        body()
        for (read, result) in answers { turns.finish(read, result, at: now, self) }
        turn()
    }

    fileprivate func flush(_ session: Session) {
        let id = session.id
        sizes[id] = 0
        if writesOfTurns.isEmpty { writesOfTurns = [0] }
        if away.contains(id) {
            guard !session.isInTransit else { return }
            engine.sockets.handOver(session, .max) { read($0, id) }
            travelling.append(session)
        } else {
            var isMore = true
            while isMore {
                isMore = engine.sockets.take(session, writeSize) { read($0, id) }
                writesOfTurns[writesOfTurns.endIndex - 1] += 1
            }
            if blocked.contains(id) { engine.sockets.blocked(id, unsent: bytes(of: id)) }
        }
    }

    private func read(_ frame: Frame, _ session: SessionID) {
        sizes[session, default: 0] += frame.bytes.count
        switch try? ReceivedFrame(frame.bytes) {
        case .ping: pings[session, default: 0] += 1
        case .text(let payload):
            if let object = try? JSONObject(payload) {
                frames[session, default: []].append(object)
            }
        case nil: break
        }
    }

    /// What is on its way arrives, and sockets leave so many bytes of it.
    func land(unsent: Int = 0) {
        let sessions = travelling
        travelling = []
        for session in sessions { engine.sockets.landed(session, unsent: unsent) }
        turn()
    }

    /// What a session that is closed while it is in transit is still given.
    func rest(of session: SessionID) -> [JSONObject] {
        _ = engine.sockets.handOverRest(session) { read($0, session) }
        return take(session)
    }
}

extension Rig: TurnEffects {
    func moment() -> Moment { Moment(now: now, instant: instant) }

    func usage() -> ThreadUsage { ThreadUsage(ran: instant) }

    func perform(_ call: UpstreamCall) {
        switch call {
        case .perform(let operation, let caller, let token):
            if isHoldingWrites {
                writes.append((token, operation, caller))
            } else {
                perform(operation, by: caller, token)
            }
        case .publish(let event):
            engine.feed(CollectionOfOne(event), at: now)
        case .ask(let query, let token):
            engine.fetched(token, generation: 0, origin.answer(query), at: now)
        case .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .forkEpoch,
            .disconnect, .presence:
            preconditionFailure("a question for a log that lives elsewhere")
        }
    }

    func handOver() {}

    func store(_ token: UInt64, _ writes: [StoreWrite]) -> Bool {
        preconditionFailure("a write for the cache of a log that lives elsewhere")
    }

    func answer(_ read: CacheRead) -> Result<Answer, RequestError>? {
        guard isHoldingReads else { return look(read.query) }
        reads.append(read)
        return nil
    }

    func beginSlow(_ read: CacheRead) {
        if isHoldingReads { reads.append(read) }
        if !isHoldingReads { turns.finishSlow(read, look(read.query), at: now, self) }
    }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        flushes.append(sessions.map(\.id))
        for session in sessions where !engine.sockets.isBlocked(session.id) { flush(session) }
    }

    func write(_ sessions: consuming [Session]) -> Duration? {
        writesOfTurns.append(0)
        for session in sessions { flush(session) }
        return writing
    }

    func close(_ session: SessionID, _ code: CloseCode) { closes[session] = code }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        throttles.append((session, isThrottled))
    }
}

/// Lets in a client that gives a user, or a token that names one: `user SECONDS`, where the token's
/// life ends that many seconds after the beginning; its leeway is ten more.
struct Doorkeeper: Authenticator {
    static let start = Timestamp(milliseconds: 1_700_000_000_000)

    func identify(token: String?, user: String?, at now: Timestamp) -> Result<Identity, Refusal> {
        guard let token else {
            guard let user else { return .failure(.request(.invalid("params.user: missing"))) }
            return .success(Identity(user: user))
        }
        let parts = token.split(separator: " ")
        guard parts.count == 2, let seconds = Int64(parts[1]) else {
            return .failure(.refused("signature"))
        }
        let end = Timestamp(milliseconds: Self.start.milliseconds + seconds * 1000)
        let deadline = Timestamp(milliseconds: end.milliseconds + 10_000)
        guard now < deadline else { return .failure(.expired) }
        return .success(Identity(user: String(parts[0]), expires: end, deadline: deadline))
    }
}

extension JSONObject {
    var event: String? { self["event"]?.string }
    var id: Int? { self["id"]?.int }
    var result: JSONObject? { self["result"]?.object }
    var errorCode: String? { self["error"]?.object?["code"]?.string }
    /// The places of the deltas of a `messages` event.
    var seqs: [Int] {
        (self["deltas"]?.array ?? []).compactMap { $0.object?["message"]?.object?["seq"]?.int }
    }
}
