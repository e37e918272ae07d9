import Chat
import Configuration
import Engine
import Ports
import Upstream
import WebSockets
import Wire

/// The running gateway: connects the engine with sockets, store and upstream. It lives on the
/// loop's thread and carries out what the engine decides; it decides nothing itself.
final class Driver {
    let engine: Engine
    let turns: TurnRunner
    let instruments: Instruments
    let entrance: Entrance
    let cache: CacheFile
    let calls: OriginCalls
    let output: SocketOutput
    let board: StatusBoard
    let http: HTTPDesk
    let slowReads: SlowReads
    private let alarm: TurnAlarm
    private let loop: ServiceLoop
    var gathering: Gathering
    private var ticks = 0
    private var isFileToBeLookedAt = false

    init(
        _ entrance: Entrance, _ cache: CacheFile, _ instruments: Instruments, loop: ServiceLoop,
        server: Server, slowReads: SlowReads, upstream: any Upstream, inbox: UpstreamInbox
    ) throws(WebSocketError) {
        self.entrance = entrance
        self.cache = cache
        self.instruments = instruments
        self.slowReads = slowReads
        let configuration = entrance.configuration
        engine = Engine(
            limits: configuration.engineLimits,
            server: ServerIdentity(
                name: Release.name, version: Release.version, commit: Release.commit),
            authenticator: TokenAuthenticator(verifier: entrance.credentials.verifier),
            instance: Self.randomName(),
            sync: cache.replica.map { _ in
                configuration.syncOptions
            }, at: instruments.clock.started)
        turns = TurnRunner(engine)
        alarm = try TurnAlarm(loop, instruments.clock)
        self.loop = loop
        gathering = Gathering(longest: Self.gathering(configuration, cache))
        calls = OriginCalls(upstream, inbox, turns, instruments)
        output = SocketOutput(server, engine.sockets)
        board = StatusBoard(engine, server, upstream, cache, entrance, instruments)
        http = HTTPDesk(
            engine, calls, cache, board,
            OperatorPage(engine, server, board, entrance, instruments), entrance, instruments)
    }

    func now() -> Timestamp { instruments.clock.now() }

    private static func randomName() -> String {
        let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
        return String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count)] })
    }

    // MARK: - The turn

    /// Ends a turn of the loop: runs the engine's decisions, calls store and upstream, writes the
    /// sockets.
    func endTurn() {
        let began = ContinuousClock.now
        instruments.measurements.began()
        let wake = turns.run(self)
        alarm.set(wake)
        output.sides?.send()
        instruments.measurements.ended(began, at: .now)
        lookAtFile()
        gather(until: wake)
    }

    /// Waits for more requests, unless something is due.
    private func gather(until wake: Wake) {
        guard gathering.isOn else { return }
        let now = instruments.clock.instant
        guard wake != .now, !instruments.measurements.isAwaiting, !engine.isDraining,
            !engine.isLingering, var time = gathering.turnEnded(at: now)
        else { return }
        if case .at(let instant) = wake { time = min(time, instant - now) }
        guard time > .zero else { return }
        instruments.measurements.gathered()
        loop.pause(for: time)
    }

    /// How long the loop may wait for more requests. With an origin elsewhere, answers and events
    /// come on their own and would wait with them; with several loops, each brings what it has.
    private static func gathering(_ configuration: Configuration, _ cache: CacheFile) -> Duration {
        let isAlone = cache.replica == nil && WorkerLoops.count(configuration.fanout.loops) == 1
        return isAlone ? .milliseconds(configuration.fanout.gather) : .zero
    }

    /// Looks at the cache's file once a second, which may trim it. Only between two turns: a turn
    /// may have decided on writes that claim what a trim takes away.
    private func lookAtFile() {
        guard isFileToBeLookedAt else { return }
        isFileToBeLookedAt = false
        guard let trimmed = cache.probe() else { return }
        engine.trimmed(trimmed, cache.answer(.load(conversation: trimmed)), at: now())
    }

    /// Takes an answer from the slow reads' thread.
    func finished(_ read: CacheRead, _ result: Result<Answer, any Error>) {
        turns.finishSlow(read, cache.read { try result.get() }, at: now(), self)
    }

    /// Called every 100 ms.
    func tick() {
        ticks += 1
        if ticks % 10 == 0 {
            output.noteProgress(at: now())
            isFileToBeLookedAt = true
            board.noteShortage()
        }
        instruments.clock.look(instruments.log)
        engine.adopt(timeOfDayAhead: instruments.clock.ahead)
        if ticks % 600 == 0 { instruments.log.endMinute() }
        engine.tick(at: now())
        board.lookAtFeed()
        http.noteTracedCalls()
        http.operators.tell()
        for incident in engine.takeIncidents() {
            instruments.log.say(
                .conversationReset,
                [
                    "conversation": incident.conversation, "reason": incident.reason.rawValue,
                    "subscriptions": "\(incident.subscriptions)",
                ])
        }
    }

    // MARK: - State

    /// Applies a reload: the keys that `configdoc` marks as reloadable.
    func adopt(_ credentials: Credentials, _ configuration: Configuration) {
        entrance.adopt(configuration, credentials)
        instruments.log.adopt(configuration.log.level)
        engine.authenticator = TokenAuthenticator(verifier: credentials.verifier)
        engine.adopt(configuration.engineLimits)
        gathering.adopt(longest: Self.gathering(configuration, cache))
        calls.upstream.adopt(engine.limits.log)
        renewDoor()
    }

    /// Replaces the rules for new connections: after a reload, or when a drain begins.
    func renewDoor() {
        entrance.renewDoor(drainedIn: engine.drainedIn, for: output.sides)
    }
}

/// Wakes the loop for the next turn: a paced conversation may write again, or reads are waiting.
/// Lives on the loop.
private final class TurnAlarm {
    private let loop: ServiceLoop
    private let clock: LoopClock
    private var alarm: ExactAlarm?
    private var wakesAt: Duration?

    init(_ loop: ServiceLoop, _ clock: LoopClock) throws(WebSocketError) {
        self.loop = loop
        self.clock = clock
        alarm = try loop.exactAlarm { [unowned self] in wakesAt = nil }
    }

    /// Sets when the next turn begins; input may start one earlier.
    func set(_ next: Wake) {
        switch next {
        case .now: loop.post {}
        case .at(let instant): wake(at: instant)
        case .never: wake(at: nil)
        }
    }

    private func wake(at instant: Duration?) {
        guard instant != wakesAt else { return }
        wakesAt = instant
        alarm?.set(after: instant.map { clock.origin + $0 - .now })
    }
}
