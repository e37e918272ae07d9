import Chat
import Engine
import JSON
import Ports
import Wire

/// The shell around each engine, in place of the gateway's driver.
final class GatewayShell {
    let run: Run
    let scenario: ReplicaScenario
    let backend: Backend
    let connections: Connections
    /// The time that writes take; nil without pacing.
    var pace: Pace?
    var clock: ReadClock
    /// What a script holds back.
    var script = Script()

    init(
        _ run: Run, _ scenario: ReplicaScenario, _ backend: Backend, _ connections: Connections,
        _ pace: Pace?
    ) {
        self.run = run
        self.scenario = scenario
        self.backend = backend
        self.connections = connections
        self.pace = pace
        clock = ReadClock(seed: run.seed)
    }

    func start(_ gateway: Gateway) {
        gateway.store.retained = scenario.faults.contains(.trims) ? scenario.sizes.kept : 0
        gateway.store.trimmedAtOnce = scenario.sizes.trimmed
        gateway.engine = Engine(
            limits: scenario.limits,
            server: ServerIdentity(name: "gapless", version: "0", commit: "0"),
            authenticator: OpenDoor(), instance: "world\(gateway.place)", sync: scenario.sync,
            at: run.now)
    }

    /// The gateway's process ends, with all its connections.
    func stop(_ gateway: Gateway) throws(Violation) {
        run.say("gateway \(gateway.place) ends")
        for place in connections.open.keys.sorted()
        where connections.open[place]?.gateway == gateway.place {
            try connections.disconnect(place)
        }
        // Writes already sent to the origin may still be done.
        for write in gateway.flight.writes where run.random.chance(50) {
            backend.perform(write.operation, by: write.caller)
        }
        gateway.stop()
    }

    // MARK: - The turn

    /// Runs turns of the gateway until none is due at once, or so many.
    func endTurn(_ gateway: Gateway, most: Int = .max) throws(Violation) {
        clock.advance(to: run.now)
        var count = 0
        var wake = Wake.now
        while wake == .now, count < most, let turns = gateway.turns,
            let turn = GatewayTurn(self, gateway)
        {
            count += 1
            try require(count < 1000, "the engine always has more to do at once")
            gateway.act.effects = 0
            wake = .never
            try turn.mayEnd { () throws(GatewayTurn.Failure) in wake = try turns.run(turn) }
        }
    }

    /// The turn of something that may be late.
    func delay() -> Int {
        run.strikes(.late, 40) ? run.turn + run.random.number(0...scenario.sizes.delay) : run.turn
    }

    func write(_ writes: [StoreWrite], _ gateway: Gateway) throws(Violation) {
        let dropped = gateway.store.dropped
        do throws(Violation) {
            try gateway.store.perform(writes)
        } catch {
            throw Violation("gateway \(gateway.place) stores what can't be: \(error)")
        }
        if gateway.store.dropped > dropped { run.count(.trims) }
        for case .drop(let conversation) in writes { gateway.unheardForks.remove(conversation) }
    }

    /// The cache trims on its own what one trim has left, between two turns.
    func tidy(_ gateway: Gateway) throws(Violation) {
        defer { gateway.toTidy = nil }
        guard let conversation = gateway.toTidy, let engine = gateway.engine,
            gateway.store.entries[conversation] != nil
        else { return }
        run.say("gateway \(gateway.place) trims \(conversation)")
        try write([.trim(conversation: conversation)], gateway)
        engine.trimmed(
            conversation, gateway.store.answer(.load(conversation: conversation)), at: run.now)
    }

    func ask(
        _ token: UInt64, _ subject: Gateway.Fetch.Subject, _ gateway: Gateway
    ) throws(Violation) {
        run.say("gateway \(gateway.place) asks \(token): \(subject.line)")
        if case .history(let query) = subject { script.asked.append(query) }
        gateway.flight.lastToken = token
        if let conversation = subject.shared {
            // Questions asked before the feed was joined, before it reported another log, or before
            // an answer that the log has no such change, don't count and are asked again.
            let joined = max(
                gateway.joinedAfter[conversation] ?? 0, gateway.costs[conversation]?.voided ?? 0)
            let twin = gateway.flight.fetches.first {
                $0.subject == subject && $0.generation == gateway.link.generation
                    && $0.token > joined
            }
            // A log that was put back makes what was asked before its feed shows that uncertain.
            try require(
                twin == nil || run.faults.contains(.forks), "asks twice at once: \(subject.line)")
        }
        let readAt = delay()
        gateway.flight.fetches.append(
            Gateway.Fetch(
                token: token, subject: subject, generation: gateway.link.generation,
                readAt: readAt, due: max(readAt, delay()), isFailing: run.strikes(.failures)))
    }
}
