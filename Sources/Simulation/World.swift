import Chat
import Engine
import JSON
import Ports
import Wire

/// A small world around the real engine: an origin that is written to, a feed and a store between
/// it and the gateway, sockets that stall, clients that come and go. Time is virtual and every
/// choice is drawn from the seed, so that a run can be made again, turn by turn. One thread; a run
/// owns everything in it.
package final class World {
    package let seed: UInt64
    let scenario: Scenario
    var random: SplitMix64
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    package private(set) var turn = 0
    var origin = Origin()
    var feed = Feed()
    package let engine: Engine
    let clients: [Client]
    /// The connections that there are, by the client's place among the clients.
    var connections: [Int: Connection] = [:]
    /// Faults and random deeds have stopped: what is under way comes to its end.
    var isCalm = false
    /// Gets a line for whatever happens, if somebody listens.
    package var trace: ((String) -> Void)?

    /// How often what went wrong.
    package private(set) var injected: [Fault: Int] = [:]

    var nextSession: SessionID = 0
    /// Answers of the store on their way.
    var answers: [LateAnswer] = []
    /// The moment of the last read: a store never goes back.
    var readCommit = 0
    /// Writes on their way to the origin.
    var writes: [(due: Int, token: UInt64, operation: Operation, caller: Caller)] = []
    /// Outcomes that come later than the events that they caused.
    var outcomes: [(due: Int, token: UInt64, result: Result<Outcome, RequestError>)] = []
    /// Deltas in frames that were lost with their connection.
    var lostDeltas = 0

    /// How long writing takes; nil where nobody rests.
    var pace: Pace?
    var clock: ReadClock
    /// Who asks for more than a turn can answer; nil where nobody does.
    var crowd: Crowd?
    let turns: TurnRunner
    let fairness = Fairness()
    /// How many reads waited while others were read for.
    package var readsThatWaited: Int { fairness.waited }
    /// What the engine has asked for in this turn.
    var effects = 0

    /// An answer of the store on its way.
    struct LateAnswer {
        let due: Int
        let read: CacheRead
        let result: Result<Answer, RequestError>
        let isSlow: Bool
    }

    /// A client's connection: its session, and how it reads.
    struct Connection {
        let session: SessionID
        var socket: Socket
        var line = Line()
        /// Bytes that the client reads a turn.
        var pace: Int
        /// The turn in which the gateway gives up waiting for the end of a close.
        var deadline: Int?
    }

    /// - Parameters:
    ///   - isPaced: whether conversations that are busy rest.
    ///   - isCrowded: whether one client asks for more than a turn can answer.
    package init(seed: UInt64, isPaced: Bool = false, isCrowded: Bool = false) {
        self.seed = seed
        random = SplitMix64(seed)
        let scenario = Scenario(&random)
        self.scenario = scenario
        pace = isPaced ? Pace(seed: seed) : nil
        clock = ReadClock(seed: seed)
        crowd = isCrowded ? Crowd(seed: seed) : nil
        engine = Engine(
            limits: pace?.limits(scenario.limits) ?? scenario.limits,
            server: ServerIdentity(name: "gapless", version: "0"),
            authenticator: OpenDoor(), instance: "world", at: now)
        turns = TurnRunner(engine)
        turns.watcher = fairness
        clients = (0..<scenario.clients).map { place in
            Client(name: "client \(place)", user: scenario.users[place % scenario.users.count])
        }
    }

    func count(_ fault: Fault) { injected[fault, default: 0] += 1 }

    func say(_ line: @autoclosure () -> String) {
        if let trace { trace("\(turn): \(line())") }
    }

    // MARK: - A turn

    /// Lets time pass, and everything that happens in it happen, in an order of the seed's.
    package func step() throws(Violation) {
        turn += 1
        now.milliseconds += Int64(isCalm ? 50 : random.chance(2) ? 20_000 : random.number(1...400))
        origin.now = now
        engine.tick(at: now)
        if !isCalm { act() }
        for part in random.shuffled([0, 1, 2, 3]) {
            switch part {
            case 0: deliverFeed()
            case 1: try deliverAnswers()
            case 2: try readSockets()
            default: write()
            }
        }
        try endTurn()
    }

    private func deliverFeed() {
        for output in feed.deliver(isCalm ? feed.count : random.number(0...scenario.feed)) {
            switch output {
            case .event(let event):
                say("feed \(event.line)")
                engine.feed(
                    CollectionOfOne(scenario.hasMany ? event.ofMany : event), at: now)
            case .performed(let token, let result):
                if !isCalm, random.chance(scenario.late) {
                    outcomes.append((turn + random.number(1...scenario.delay), token, result))
                } else {
                    engine.performed(token, result, at: now)
                }
            }
        }
        for outcome in outcomes where isCalm || outcome.due <= turn {
            engine.performed(outcome.token, outcome.result, at: now)
        }
        outcomes.removeAll { isCalm || $0.due <= turn }
    }

    private func deliverAnswers() throws(Violation) {
        let due = answers.filter { isCalm || $0.due <= turn }
        answers.removeAll { isCalm || $0.due <= turn }
        for answer in due {
            say("answer to \(answer.read.token)")
            if answer.isSlow {
                try turns.finishSlow(answer.read, answer.result, at: now, self)
            } else {
                try turns.finish(answer.read, answer.result, at: now, self)
            }
        }
    }

    private func write() {
        while let write = writes.first, isCalm || write.due <= turn {
            writes.removeFirst()
            let result = perform(write.operation, by: write.caller)
            feed.append(.performed(token: write.token, result), commit: origin.commit)
        }
    }

    /// Writes to the origin, which tells the feed.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller) -> Result<Outcome, RequestError> {
        let performed = origin.perform(operation, by: caller)
        say("commit \(origin.commit): \(operation.line) \(performed.events.count) events")
        for event in performed.events { feed.append(.event(event), commit: origin.commit) }
        return performed.result
    }

    // MARK: - What holds after every turn

    func checkBooks() throws(Violation) {
        try fairness.check()
        let totals = engine.report.totals()
        try require(
            totals.accounting.error == 0, "the accounting are out by \(totals.accounting.error)")
        for (conversation, accounting) in engine.report.conversationAccounting()
        where accounting.error != 0 {
            throw Violation("the accounting of \(conversation) are out by \(accounting.error)")
        }
        let received = clients.reduce(lostDeltas) { $0 + $1.deltas }
        try require(
            received <= totals.accounting.written,
            "\(received) deltas came, \(totals.accounting.written) were written")
        // What one write of a socket may hand over, frame and all, comes on top.
        let most = scenario.limits.outboxHard + scenario.write + scenario.limits.reply
        try require(
            totals.outboxBytes <= totals.sessions * most,
            "\(totals.outboxBytes) bytes wait for \(totals.sessions) sessions")
    }

    /// What holds once every socket is empty.
    func checkRest() throws(Violation) {
        let accounting = engine.report.totals().accounting
        let received = clients.reduce(lostDeltas) { $0 + $1.deltas }
        try require(
            received == accounting.written && accounting.queued == 0,
            "\(received) deltas came, \(accounting.written) were written, \(accounting.queued) wait"
        )
    }

    /// Whether nothing is on its way any more.
    var isQuiet: Bool {
        feed.count == 0 && engine.nextRelease == nil && turns.isIdle && answers.isEmpty
            && writes.isEmpty
            && outcomes.isEmpty
            && connections.allSatisfy { $0.value.socket.isEmpty && clients[$0.key].asked.isEmpty }
    }
}
