import Chat
import Engine
import JSON
import Ports
import Wire

/// A small world around the real engine: an origin that is written to, a feed and a store between
/// it and the gateway, sockets that stall, clients that come and go. Time is virtual and every
/// choice is drawn from the seed, so that a run can be repeated turn by turn. One thread; a run
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
    /// The open connections, by the client's index.
    var connections: [Int: Connection] = [:]
    /// Faults and random actions have stopped: what is in flight is completed.
    var isCalm = false
    /// Called with a line for every event.
    package var trace: ((String) -> Void)?

    /// How often each fault struck.
    package private(set) var injected: [Fault: Int] = [:]

    var nextSession: SessionID = 0
    /// Pending answers of the store.
    var answers: [LateAnswer] = []
    /// The commit of the last read: a store never goes back.
    var readCommit = 0
    /// Pending writes to the origin.
    var writes: [(due: Int, token: UInt64, operation: Operation, caller: Caller)] = []
    /// Results that come later than the events of their writes.
    var outcomes: [(due: Int, token: UInt64, result: Result<Outcome, RequestError>)] = []
    /// Deltas in frames lost with their connection.
    var lostDeltas = 0

    /// The time that writes take; nil without pacing.
    var pace: Pace?
    var clock: ReadClock
    /// The client that asks for more than a turn can answer; nil if there is none.
    var crowd: Crowd?
    let turns: TurnRunner
    let fairness = Fairness()
    /// How many reads waited while other users' were done.
    package var readsThatWaited: Int { fairness.waited }
    /// How many effects the engine asked for in this turn.
    var effects = 0

    /// A pending answer of the store.
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
        /// Bytes that the client reads in a turn.
        var pace: Int
        /// The turn in which the gateway stops waiting for the end of a close.
        var deadline: Int?
    }

    /// - Parameters:
    ///   - isPaced: whether busy conversations are paced.
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

    /// A turn: time passes, and everything due in it happens in random order.
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

    /// Writes to the origin, which passes its events to the feed.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller) -> Result<Outcome, RequestError> {
        let performed = origin.perform(operation, by: caller)
        say("commit \(origin.commit): \(operation.line) \(performed.events.count) events")
        for event in performed.events { feed.append(.event(event), commit: origin.commit) }
        return performed.result
    }

    // MARK: - Invariants

    func checkAccounting() throws(Violation) {
        try fairness.check()
        let totals = engine.report.totals()
        try require(
            totals.accounting.error == 0, "the accounting is out by \(totals.accounting.error)")
        for (conversation, accounting) in engine.report.conversationAccounting()
        where accounting.error != 0 {
            throw Violation("the accounting of \(conversation) is out by \(accounting.error)")
        }
        let stranded = engine.report.strandedSubscriptions
        try require(stranded == 0, "\(stranded) subscriptions of sessions that are gone")
        let received = clients.reduce(lostDeltas) { $0 + $1.tally.deltas }
        try require(
            received <= totals.accounting.written,
            "\(received) deltas came, \(totals.accounting.written) were written")
        // In addition, what one write of a socket may take beyond its limit: a whole frame.
        let most = scenario.limits.outboxHard + scenario.write + scenario.limits.reply
        try require(
            totals.outboxBytes <= totals.sessions * most,
            "\(totals.outboxBytes) bytes wait for \(totals.sessions) sessions")
    }

    /// Invariants once every socket is empty.
    func checkRest() throws(Violation) {
        let accounting = engine.report.totals().accounting
        let received = clients.reduce(lostDeltas) { $0 + $1.tally.deltas }
        try require(
            received == accounting.written && accounting.queued == 0,
            "\(received) deltas came, \(accounting.written) were written, \(accounting.queued) wait"
        )
    }

    /// Whether nothing is in flight any more.
    var isQuiet: Bool {
        feed.count == 0 && engine.nextRelease == nil && turns.isIdle && answers.isEmpty
            && writes.isEmpty
            && outcomes.isEmpty
            && connections.allSatisfy { $0.value.socket.isEmpty && clients[$0.key].asked.isEmpty }
    }
}
