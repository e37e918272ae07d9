import Cache
import Chat
import Configuration
import Engine
import Ports
import SQLite
import Upstream
import WebSockets
import Wire

/// The running gateway: connects the engine with sockets, store and upstream. It lives on the
/// loop's thread and carries out what the engine decides; it decides nothing itself.
final class Driver {
    private(set) var configuration: Configuration
    let log: Logger
    let loop: ServiceLoop
    let server: Server
    let engine: Engine
    let store: Store
    let reader: Reader
    let slowReads: SlowReads
    let upstream: any Upstream
    /// The cache of an origin that lives elsewhere; nil if the store itself is the origin.
    let replica: ReplicaCache?
    private(set) var credentials: Credentials
    var door: Door
    private(set) var internalRule: InternalRule
    /// The worker loops, if there are any.
    var sides: WorkerLoops?
    let page: PageFiles?
    let started: Timestamp
    /// Streams and state of the operator's page.
    var desk = OperatorDesk()

    /// The most bytes of one write to a socket.
    static let writeSize = 65_536
    var measurements = Measurements()
    var writes = Writes()
    var buffer = SendBuffer()
    var clock = SteadyClock()
    /// The zero of the engine's clock for pacing.
    let origin = ContinuousClock.now
    /// Wakes the loop for the next turn: a paced conversation may write again, or reads are
    /// waiting.
    private lazy var alarm = loop.alarm { [unowned self] in wakesAt = nil }
    private var wakesAt: Duration?
    /// Calls of this turn that were not handed to the upstream yet.
    var calls: [UpstreamCall] = []
    let turns: TurnRunner
    private var ticks = 0
    /// For blocked sockets: the bytes that their peers had acknowledged a second ago.
    var acknowledged: [SessionID: UInt64] = [:]
    private var nextToken: UInt64 = Driver.firstToken
    /// Tokens of the server API begin here; those of the engine are below.
    private static let firstToken: UInt64 = 1 << 63
    /// Calls of the server API that wait for the upstream, by token.
    var waiting: [UInt64: WaitingCall] = [:]
    var lastEvent: Timestamp?
    /// Whether the cache's file counts as writable, for readiness.
    var cache = CacheReadiness()
    /// Whether the origin's feed counts as live, for readiness.
    var feed = FeedReadiness()
    /// Connections refused because no file descriptor was left.
    var shortage = Shortage()
    /// Called once, when the cache of an origin elsewhere turns out to be damaged.
    var onDamage: (() -> Void)?

    init(
        configuration: Configuration, log: Logger, loop: ServiceLoop, server: Server, store: Store,
        reader: Reader, slowReads: SlowReads, upstream: any Upstream, replica: ReplicaCache?,
        credentials: Credentials
    ) {
        self.configuration = configuration
        self.log = log
        self.loop = loop
        self.server = server
        self.store = store
        self.reader = reader
        self.slowReads = slowReads
        self.upstream = upstream
        self.replica = replica
        self.credentials = credentials
        door = Door(configuration, credentials, log)
        internalRule = InternalRule(configuration.listen, credentials)
        page = configuration.page.enabled ? PageFiles.installed() : nil
        started = clock.now()
        engine = Engine(
            limits: Limits(configuration),
            server: ServerIdentity(name: Release.name, version: Release.version),
            authenticator: TokenAuthenticator(verifier: credentials.verifier),
            instance: Self.randomName(),
            sync: replica.map { _ in
                SyncOptions(configuration.sync, keepsAll: configuration.cache.keepsAll)
            }, at: started)
        turns = TurnRunner(engine)
    }

    func now() -> Timestamp { clock.now() }

    /// The time of day, once a jump of it has settled.
    var timeOfDay: Timestamp {
        Timestamp(milliseconds: clock.now().milliseconds + clock.ahead)
    }

    private static func randomName() -> String {
        let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
        return String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count)] })
    }

    // MARK: - The turn

    /// Ends a turn of the loop: runs the engine's decisions, calls store and upstream, writes the
    /// sockets.
    func endTurn() {
        let began = ContinuousClock.now
        measurements.began()
        switch turns.run(self) {
        case .now: loop.post {}
        case .at(let instant): wake(at: instant)
        case .never: wake(at: nil)
        }
        sides?.send()
        measurements.ended(began, at: .now)
    }

    /// Sets the alarm for the next turn; input may start one earlier.
    private func wake(at instant: Duration?) {
        guard instant != wakesAt else { return }
        wakesAt = instant
        alarm.set(after: instant.map { origin + $0 - .now })
    }

    /// Takes an answer from the slow reads' thread.
    func finished(_ read: CacheRead, _ result: Result<Answer, any Error>) {
        turns.finishSlow(read, self.read { try result.get() }, at: now(), self)
    }

    func read(_ answer: () throws -> Answer) -> Result<Answer, RequestError> {
        do {
            return .success(try answer())
        } catch let error as RequestError {
            return .failure(error)
        } catch {
            log.error("read of the cache failed", ["error": "\(error)"])
            note(error)
            return .failure(RequestError(.internal, "the cache can't be read", retry: .later))
        }
    }

    /// Called every 100 ms.
    func tick() {
        ticks += 1
        if ticks % 10 == 0 {
            noteProgress()
            probeCache()
            noteShortage()
        }
        lookAtClocks()
        if ticks % 600 == 0 { log.endMinute() }
        engine.tick(at: now())
        lookAtFeed()
        noteTracedCalls()
        tellOperators()
        for incident in engine.takeIncidents() {
            log.warning(
                "clients were told to forget a conversation and to load it again",
                [
                    "conversation": incident.conversation, "reason": incident.reason.rawValue,
                    "subscriptions": "\(incident.subscriptions)",
                ])
        }
    }

    // MARK: - The upstream

    /// Queues an operation for the upstream, which answers under the token.
    func perform(_ operation: Operation, by caller: Caller, token: UInt64) {
        measurements.asked(token)
        turns.noteOperation()
        calls.append(.perform(operation, by: caller, token: token))
    }

    /// Registers a call of the server API.
    /// - Returns: its token.
    func wait(_ call: WaitingCall) -> UInt64 {
        nextToken += 1
        waiting[nextToken] = call
        measurements.asked(nextToken)
        return nextToken
    }

    // MARK: - State

    /// Applies a reload: the keys that `configdoc` marks as reloadable.
    func adopt(_ credentials: Credentials, _ configuration: Configuration) {
        self.credentials = credentials
        self.configuration = configuration
        log.adopt(configuration.log.level)
        engine.authenticator = TokenAuthenticator(verifier: credentials.verifier)
        engine.adopt(Limits(configuration))
        upstream.adopt(engine.limits.log)
        internalRule = InternalRule(configuration.listen, credentials)
        hangDoor()
    }
}
