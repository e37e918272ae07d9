import Cache
import Chat
import Configuration
import Engine
import Ports
import SQLite
import Upstream
import WebSockets
import Wire

/// The running gateway: it brings the engine together with sockets, store and upstream. It lives on
/// the loop's thread and does what the engine decides; it decides nothing itself.
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
    /// The cache of another origin; nil where the store is the origin.
    let replica: ReplicaCache?
    private(set) var credentials: Credentials
    var door: Door
    private(set) var internalRule: InternalRule
    /// The other loops that serve sockets, if there are any.
    var sides: WorkerLoops?
    let page: PageFiles?
    let started: Timestamp
    /// Who looks at the operator's page.
    var desk = OperatorDesk()

    /// One write of a socket.
    static let writeSize = 65_536
    var measurements = Measurements()
    var writes = Writes()
    var buffer = SendBuffer()
    var clock = SteadyClock()
    /// Where the engine's clock for pacing begins.
    let origin = ContinuousClock.now
    /// Ends the rest of a conversation that has something to say, or of reads that wait.
    private lazy var alarm = loop.alarm { [unowned self] in wakesAt = nil }
    private var wakesAt: Duration?
    /// What the upstream is asked for in this turn, and has not been handed yet.
    var calls: [UpstreamCall] = []
    let turns: TurnRunner
    private var ticks = 0
    /// Of blocked sockets, the bytes that their peers had acknowledged a second ago.
    var acknowledged: [SessionID: UInt64] = [:]
    private var nextToken: UInt64 = Driver.firstToken
    /// Tokens of the server API begin here, those of the engine below.
    private static let firstToken: UInt64 = 1 << 63
    /// Calls of the server API that wait for the upstream.
    var waiting: [UInt64: WaitingCall] = [:]
    var lastEvent: Timestamp?
    /// Whether the file can be written, as readiness sees it.
    var cache = CacheReadiness()
    /// Whether the feed of the origin is there, as readiness sees it.
    var feed = FeedReadiness()
    /// Connections that there was no descriptor for.
    var shortage = Shortage()
    /// Called once, when the cache of another origin turns out to be broken.
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

    /// As far as it can be believed.
    var timeOfDay: Timestamp {
        Timestamp(milliseconds: clock.now().milliseconds + clock.ahead)
    }

    private static func randomName() -> String {
        let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
        return String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count)] })
    }

    // MARK: - The turn

    /// Ends a turn of the loop: decides, asks the store and the upstream, and writes the sockets.
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

    /// Has the next turn begin then, if nothing comes in before.
    private func wake(at instant: Duration?) {
        guard instant != wakesAt else { return }
        wakesAt = instant
        alarm.set(after: instant.map { origin + $0 - .now })
    }

    /// The thread of the slow reads has an answer.
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

    /// Time has passed; called every 100 ms.
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

    /// Has the upstream do it, which says what became of it under the token.
    func perform(_ operation: Operation, by caller: Caller, token: UInt64) {
        measurements.asked(token)
        turns.noteOperation()
        calls.append(.perform(operation, by: caller, token: token))
    }

    /// A token for a call of the server API.
    func wait(_ call: WaitingCall) -> UInt64 {
        nextToken += 1
        waiting[nextToken] = call
        measurements.asked(nextToken)
        return nextToken
    }

    // MARK: - State

    /// Takes over what a reload may change: the keys that `configdoc` marks so.
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
