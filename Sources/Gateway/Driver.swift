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
    let log: Log
    let loop: ServiceLoop
    let server: Server
    let engine: Engine
    let store: Store
    let reader: Reader
    private let longReadings: LongReadings
    let upstream: any Upstream
    /// The cache of another origin; nil where the store is the origin.
    let mirror: Mirror?
    private(set) var credentials: Credentials
    var door: Door
    private(set) var internalRule: InternalRule
    /// The other loops that serve sockets, if there are any.
    var sides: SideLoops?
    let page: PageFiles?
    let started: Timestamp
    /// Who looks at the operator's page.
    var desk = OperatorDesk()

    /// One write of a socket.
    static let writeSize = 65_536
    private var actions = ActionQueue()
    var measurements = Measurements()
    var writes = Writes()
    var buffer = SendBuffer()
    var clock = SteadyClock()
    /// Where the engine's clock for pacing begins.
    private let origin = ContinuousClock.now
    /// Ends the rest of a conversation that has something to say.
    private lazy var release = loop.alarm { [unowned self] in releasesAt = nil }
    private var releasesAt: Duration?
    /// What the upstream is asked for in this turn, and has not been handed yet.
    var calls: [UpstreamCall] = []
    /// The upstream is asked for a write in this turn.
    private var hasAskedUpstream = false
    private var pace = ReadingPace()
    /// Ends the rest of questions that wait.
    private lazy var nextReading = loop.alarm {}
    private var ticks = 0
    /// Of blocked sockets, the bytes that their peers had acknowledged a second ago.
    var acknowledged: [SessionID: UInt64] = [:]
    private var nextToken: UInt64 = Driver.firstToken
    /// Tokens of the server API begin here, those of the engine below.
    private static let firstToken: UInt64 = 1 << 63
    /// Calls of the server API that wait for the upstream.
    var waiting: [UInt64: WaitingCall] = [:]
    var lastEvent: Timestamp?
    var isWritable = true
    /// Whether the feed of the origin is there, as readiness sees it.
    var feed = FeedReadiness()
    /// Connections that there was no descriptor for.
    var shortage = Shortage()
    /// Called once, when the cache of another origin turns out to be broken.
    var onDamage: (() -> Void)?

    init(
        configuration: Configuration, log: Log, loop: ServiceLoop, server: Server, store: Store,
        reader: Reader, longReadings: LongReadings, upstream: any Upstream, mirror: Mirror?,
        credentials: Credentials
    ) {
        self.configuration = configuration
        self.log = log
        self.loop = loop
        self.server = server
        self.store = store
        self.reader = reader
        self.longReadings = longReadings
        self.upstream = upstream
        self.mirror = mirror
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
            sync: mirror.map { _ in
                SyncOptions(configuration.sync, keepsAll: configuration.cache.keepsAll)
            }, at: started)
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
        engine.endTurn(at: now(), instant: began - origin)
        actions.append(engine.takeActions(), at: began)
        measurements.decided(upTo: actions.appended)
        performDeeds(since: began)
        // What everybody is told does not wait for what somebody has asked.
        writeSessions()
        if performReadings() {
            engine.endTurn(at: now(), instant: began - origin)
            performDeeds(since: began)
            writeSessions()
        }
        goOn()
        for (session, code) in engine.takeCloses() { close(session, code) }
        throttle()
        sides?.send()
        measurements.ended(began, done: actions.taken, at: .now)
    }

    /// Writes what everybody is owed, and has the conversations that are busy rest after it.
    private func writeSessions() {
        let sessions = engine.takeDirtySessions()
        if !sessions.isEmpty {
            let began = ContinuousClock.now
            // First, so that they write at the same time.
            let elsewhere = sides?.write(sessions, Self.writeSize) ?? .zero
            let count = sessions.count
            write(consume sessions)
            let ended = ContinuousClock.now
            // What it costs decides how long a conversation rests, on however many cores it is.
            engine.wrote(count, in: ended - began + elsewhere, at: ended - origin)
        }
        let next = engine.nextRelease
        guard next != releasesAt else { return }
        releasesAt = next
        release.set(after: next.map { origin + $0 - .now })
    }

    /// Stops reading from those who ask for too much, and goes on with those who may ask again.
    func throttle() {
        for (session, isThrottled) in engine.takeThrottles() {
            if let sides, sides.serves(session) {
                sides.throttle(session, isThrottled)
            } else {
                server.throttle(SocketID(rawValue: session), isThrottled)
            }
        }
    }

    /// Does what was decided, and what is decided because of that, until nothing is left.
    private func performDeeds(since began: ContinuousClock.Instant) {
        while true {
            actions.append(engine.takeActions(), at: .now)
            guard !actions.areDeedsDone else { return handOver() }
            while let deed = actions.popDeed() { perform(deed) }
            engine.endTurn(at: now(), instant: began - origin)
        }
    }

    /// Answers questions for a while.
    /// - Returns: whether any was answered.
    private func performReadings() -> Bool {
        let began = ContinuousClock.now
        let hasAsked = hasAskedUpstream
        hasAskedUpstream = false
        guard hasReadings, pace.mayBegin(hasAskedUpstream: hasAsked, at: began) else {
            return false
        }
        var start = began
        while performReading() {
            let end = ContinuousClock.now
            guard pace.answered(from: start, to: end, turnBegan: began) else { break }
            start = end
        }
        return true
    }

    private var hasReadings: Bool { !actions.isEmpty || longReadings.hasNext }

    /// Answers a question, or has the thread of the long ones begin with one.
    /// - Returns: whether there was any.
    private func performReading() -> Bool {
        if let question = longReadings.next() {
            if engine.waits(for: question.token) {
                longReadings.begin(question)
            } else {
                answered(question.query, since: question.since)
            }
        } else if let reading = actions.popReading() {
            perform(reading)
        } else {
            return false
        }
        return true
    }

    /// What is left is done in the next turn, behind what came in meanwhile, or when it may be.
    private func goOn() {
        if engine.hasMore { return loop.post {} }
        guard hasReadings else { return }
        if let end = pace.restsUntil { nextReading.set(after: end - .now) } else { loop.post {} }
    }

    private func perform(_ action: Engine.Action) {
        switch action {
        case .read(let token, let query):
            if query.isLong, engine.mayTakeLong(token) {
                let question = LongReadings.Question(
                    token: token, query: query, since: actions.since)
                return longReadings.append(question)
            }
            if engine.waits(for: token) {
                engine.answered(token, read { try reader.answer(query) }, at: engine.now)
            }
            answered(query, since: actions.since)
        case .perform(let token, let operation, let caller):
            perform(operation, by: caller, token: token)
        case .publish(let event):
            upstream.publish(event)
        case .store(let token, let writes):
            guard engine.waits(for: token) else { return }
            // The origin does not wait for the file.
            handOver()
            engine.stored(token, keep(writes), at: engine.now)
        case .fetch(let token, let query):
            measurements.asked(token)
            calls.append(.ask(query, token: token))
        case .subscribe(let conversation):
            upstream.subscribe(conversation)
        case .unsubscribe(let conversation):
            upstream.unsubscribe(conversation)
        case .subscribeList(let user):
            upstream.subscribeList(of: user)
        case .unsubscribeList(let user):
            upstream.unsubscribeList(of: user)
        case .disown(let token, let head, let conversation):
            log.warning(
                "origin lost changes; clients load it again", ["conversation": conversation])
            upstream.disown(head, conversation: conversation, token: token)
        }
    }

    /// Has the cache keep what the engine decided.
    /// - Returns: whether it is in the file.
    private func keep(_ writes: [StoreWrite]) -> Bool {
        guard let mirror else { return false }
        let began = ContinuousClock.now
        do {
            try mirror.perform(writes, at: timeOfDay)
            measurements.committed(writes.count, since: began, isInFile: true)
            if !isWritable, mirror.checkpointFailure == nil { wroteCache(nil) }
            return true
        } catch {
            measurements.committed(writes.count, since: began, isInFile: false)
            log.error("write of the cache failed", ["error": "\(error)"])
            if isWritable { wroteCache(error) }
            note(error)
            return false
        }
    }

    /// The thread of the long readings has an answer.
    func finished(_ question: LongReadings.Question, _ result: Result<Answer, any Error>) {
        longReadings.answered()
        engine.answered(question.token, read { try result.get() }, at: now())
        answered(question.query, since: question.since)
    }

    /// The question has its answer, from wherever, or serves nobody any more.
    private func answered(_ query: Query, since: ContinuousClock.Instant) {
        if case .catchUp = query { measurements.replayed(since: since) }
        // One turn can ask for more than a socket takes: what is long goes out at once.
        let pressed = engine.takePressedSessions()
        guard !pressed.isEmpty else { return }
        _ = sides?.write(pressed, Self.writeSize)
        write(pressed)
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
        hasAskedUpstream = true
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
