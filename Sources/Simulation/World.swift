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
    let run: Run
    let scenario: Scenario
    var origin = Origin()
    var feed = Feed()
    let process: EngineProcess
    package let engine: Engine
    let connections: Connections
    var late = Late()
    /// The time that writes take; nil without pacing.
    var pace: Pace?
    var clock: ReadClock
    /// The client that asks for more than a turn can answer; nil if there is none.
    var crowd: Crowd?
    /// How many effects the engine asked for in this turn.
    var effects = 0

    /// A pending answer of the store.
    struct LateAnswer {
        let due: Int
        let read: CacheRead
        let result: Result<Answer, RequestError>
        let isSlow: Bool
    }

    /// What comes later than it was asked for.
    struct Late {
        /// Pending answers of the store.
        var answers: [LateAnswer] = []
        /// The commit of the last read: a store never goes back.
        var readCommit = 0
        /// Pending writes to the origin.
        var writes: [(due: Int, token: UInt64, operation: Operation, caller: Caller)] = []
        /// Results that come later than the events of their writes.
        var outcomes: [(due: Int, token: UInt64, result: Result<Outcome, RequestError>)] = []

        var isEmpty: Bool { answers.isEmpty && writes.isEmpty && outcomes.isEmpty }
    }

    var clients: [Client] { connections.clients }

    /// Called with a line for every event.
    package var trace: ((String) -> Void)? {
        get { run.trace }
        set { run.trace = newValue }
    }

    /// How often each fault struck.
    package var injected: [Fault: Int] { run.injected }

    /// How many reads waited while other users' were done.
    package var readsThatWaited: Int { process.fairness.waited }

    /// - Parameters:
    ///   - isPaced: whether busy conversations are paced.
    ///   - isCrowded: whether one client asks for more than a turn can answer.
    package init(seed: UInt64, isPaced: Bool = false, isCrowded: Bool = false) {
        var random = SplitMix64(seed)
        let scenario = Scenario(&random)
        run = Run(seed: seed, random)
        self.scenario = scenario
        pace = isPaced ? Pace(seed: seed) : nil
        clock = ReadClock(seed: seed)
        crowd = isCrowded ? Crowd(seed: seed) : nil
        engine = Engine(
            limits: pace?.limits(scenario.limits) ?? scenario.limits,
            server: ServerIdentity(name: "gapless", version: "0", commit: "0"),
            authenticator: OpenDoor(), instance: "world", at: run.now)
        process = EngineProcess(place: 0)
        process.engine = engine
        connections = Connections(
            run, clients: scenario.clients, users: scenario.users, [process],
            sizes: (scenario.socket, scenario.write))
        connections.oracle = { [unowned self] in Oracle(origin: origin) }
    }

    // MARK: - A turn

    /// A turn: time passes, and everything due in it happens in random order.
    package func step() throws(Violation) {
        run.pass(calm: 50)
        origin.now = run.now
        engine.tick(at: run.now)
        if !run.isCalm { act() }
        for part in run.random.shuffled([0, 1, 2, 3]) {
            switch part {
            case 0: deliverFeed()
            case 1: try deliverAnswers()
            case 2: try connections.readSockets()
            default: write()
            }
        }
        try endTurn()
    }

    /// Runs turns until none is due at once.
    private func endTurn() throws(Violation) {
        clock.advance(to: run.now)
        var count = 0
        var wake = Wake.now
        while wake == .now, let turns = process.turns {
            count += 1
            try require(count < 1000, "the engine always has more to do at once")
            effects = 0
            wake = try turns.run(self)
        }
        try checkAccounting()
    }

    private func deliverFeed() {
        for output in feed.deliver(run.isCalm ? feed.count : run.random.number(0...scenario.feed)) {
            switch output {
            case .event(let event):
                run.say("feed \(event.line)")
                engine.feed(
                    CollectionOfOne(scenario.hasMany ? event.ofMany : event), at: run.now)
            case .performed(let token, let result):
                if !run.isCalm, run.random.chance(scenario.late) {
                    late.outcomes.append(
                        (run.turn + run.random.number(1...scenario.delay), token, result))
                } else {
                    engine.performed(token, result, at: run.now)
                }
            }
        }
        for outcome in late.outcomes where run.isCalm || outcome.due <= run.turn {
            engine.performed(outcome.token, outcome.result, at: run.now)
        }
        late.outcomes.removeAll { run.isCalm || $0.due <= run.turn }
    }

    private func deliverAnswers() throws(Violation) {
        let due = late.answers.filter { run.isCalm || $0.due <= run.turn }
        late.answers.removeAll { run.isCalm || $0.due <= run.turn }
        for answer in due {
            run.say("answer to \(answer.read.token)")
            if answer.isSlow {
                try process.turns?.finishSlow(answer.read, answer.result, at: run.now, self)
            } else {
                try process.turns?.finish(answer.read, answer.result, at: run.now, self)
            }
        }
    }

    private func write() {
        while let write = late.writes.first, run.isCalm || write.due <= run.turn {
            late.writes.removeFirst()
            let result = perform(write.operation, by: write.caller)
            feed.append(.performed(token: write.token, result), commit: origin.commit)
        }
    }

    /// Writes to the origin, which passes its events to the feed.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller) -> Result<Outcome, RequestError> {
        let performed = origin.perform(operation, by: caller)
        run.say("commit \(origin.commit): \(operation.line) \(performed.events.count) events")
        for event in performed.events { feed.append(.event(event), commit: origin.commit) }
        return performed.result
    }

    // MARK: - Invariants

    func checkAccounting() throws(Violation) {
        try process.fairness.check()
        let totals = engine.report.totals()
        try require(
            totals.accounting.error == 0, "the accounting is out by \(totals.accounting.error)")
        for (conversation, accounting) in engine.report.conversationAccounting()
        where accounting.error != 0 {
            throw Violation("the accounting of \(conversation) is out by \(accounting.error)")
        }
        let stranded = engine.report.strandedSubscriptions
        try require(stranded == 0, "\(stranded) subscriptions of sessions that are gone")
        let received = connections.receivedDeltas
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
        let received = connections.receivedDeltas
        try require(
            received == accounting.written && accounting.queued == 0,
            "\(received) deltas came, \(accounting.written) were written, \(accounting.queued) wait"
        )
    }

    /// Whether nothing is left in flight.
    var isQuiet: Bool {
        feed.count == 0 && engine.nextRelease == nil && process.turns?.isIdle != false
            && late.isEmpty
            && connections.isQuiet
    }
}

/// Admits every client under the name that it gives.
struct OpenDoor: Authenticator {
    func identify(token: String?, user: String?, at now: Timestamp) -> Result<Identity, Refusal> {
        guard let user else {
            return .failure(.request(RequestError(.fieldMissing, "params.user: missing")))
        }
        return .success(Identity(user: user))
    }
}
