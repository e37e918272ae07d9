import Chat
import ClientCore
import Engine
import Ports
import Wire

@testable import Simulation

/// What a world was caught at, with its seed and turn.
struct WorldError: Error, CustomStringConvertible {
    var description: String
}

/// Real client sessions against the real engine: sockets that stall and break, gateways that are
/// restarted, conversations that are written to, deleted and created anew. Time is virtual, every
/// choice is drawn from the seed, and after each frame each client is judged by the log. One
/// thread; a run owns everything in it.
final class SessionWorld {
    static let conversations = ["c1", "c2"]

    let seed: UInt64
    let scenario: Scenario
    var random: SplitMix64
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    var turn = 0
    var origin = Origin()
    var feed = Feed()
    var engine: Engine { didSet { turns = Self.turns(engine) } }
    private var turns: TurnRunner
    var people: [Inhabitant] = []
    var isCalm = false
    /// Frames that were judged.
    private(set) var judged = 0
    private var nextSession: SessionID = 0
    private var outcomes: [UInt64: Result<Outcome, RequestError>] = [:]

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed)
        var scenario = Scenario(&random)
        scenario.limits.subscriptions = 1_000
        // A client whose every answer is above the hard limit never comes to rest.
        scenario.limits.outboxHard = max(scenario.limits.outboxHard, 400_000)
        self.scenario = scenario
        engine = Self.engine(scenario, now)
        turns = Self.turns(engine)
        let users = scenario.users
        people = users.map { Inhabitant($0, seed: random.next()) }
        for id in Self.conversations { create(id) }
    }

    private static func engine(_ scenario: Scenario, _ now: Timestamp) -> Engine {
        Engine(
            limits: scenario.limits,
            server: ServerIdentity(name: "gapless", version: "0", commit: "0"),
            authenticator: OpenDoor(), instance: "world", at: now)
    }

    /// No clock moves during a turn: it reads until nothing is left to read.
    private static func turns(_ engine: Engine) -> TurnRunner {
        TurnRunner(engine, budget: ReadBudget(standing: .zero))
    }

    private func runTurns() { while turns.run(self) == .now {} }

    var instant: Instant { Instant(monotonic: now.milliseconds, clock: now) }

    // MARK: A run

    /// Lets everybody live for some turns, then come to rest, and looks whether all is whole.
    func run(steps: Int) throws {
        do {
            for person in people { person.session.open(instant) }
            for _ in 0..<steps { try step() }
            isCalm = true
            for person in people { person.session.wake(instant) }
            for _ in 0..<4_000 {
                try step()
                if people.allSatisfy({ isWhole($0) }) { return try people.forEach(checkRest) }
            }
            let state = people.map {
                "\($0.user): \($0.session.state) \($0.trouble(in: self) ?? "")"
            }
            throw WorldError(description: "no rest: \(state.joined(separator: "; "))")
        } catch {
            throw WorldError(description: "seed \(seed), turn \(turn): \(error)")
        }
    }

    private func step() throws {
        turn += 1
        now.milliseconds += Int64(isCalm ? 50 : random.chance(2) ? 20_000 : random.number(1...400))
        origin.now = now
        engine.tick(at: now)
        if !isCalm { act() }
        for person in people {
            person.session.tick(instant)
            if isCalm { heal(person) }
            perform(person)
        }
        for output in feed.deliver(isCalm ? feed.count : random.number(0...scenario.feed)) {
            switch output {
            case .event(let event): engine.feed(CollectionOfOne(event), at: now)
            case .performed(let token, let result): engine.performed(token, result, at: now)
            }
        }
        runTurns()
        for person in people { try read(person) }
        runTurns()
    }

    // MARK: What people do

    private func create(_ id: String) {
        var fields = ConversationFields()
        fields.participants = scenario.users
        write(.put(id: id, fields))
    }

    private func write(_ operation: Operation) {
        for event in origin.perform(operation, by: .server).events {
            feed.append(.event(event), commit: origin.commit)
        }
    }

    private func act() {
        for _ in 0..<random.number(0...3) { writeSomething() }
        if random.chance(1) { restart() }
        for person in people {
            if random.chance(scenario.losses) { lose(person) }
            if random.chance(scenario.stalls) {
                person.connection?.pace = random.pick([0, 40, 700, .max]) ?? .max
            }
            if random.chance(scenario.requests) { ask(person) }
        }
    }

    private func writeSomething() {
        let id = random.pick(Self.conversations) ?? ""
        guard let log = origin.log(id), log.ended == nil else { return create(id) }
        let author = random.pick(scenario.users) ?? ""
        let place = random.number(1...max(1, log.highest))
        switch random.upTo(100) {
        case ..<65:
            let count = random.chance(10) ? random.number(10...60) : 1
            let messages = (0..<count).map { _ in
                NewMessage(author: author, content: MessageContent(body: "text \(turn)"))
            }
            write(.send(conversation: id, messages))
        case ..<80 where log.highest > 0:
            let edit = MessageEdit(body: "edited \(turn)")
            write(.edit(conversation: id, id: log.message(place).id, edit))
        case ..<88 where log.highest > 0:
            write(.delete(conversation: id, id: log.message(place).id))
        case ..<94:
            write(.put(id: id, ConversationFields(title: "title \(turn)")))
        case ..<95: write(.deleteConversation(id))
        default: break
        }
    }

    private func ask(_ person: Inhabitant) {
        let id = random.pick(Self.conversations) ?? ""
        switch random.upTo(10) {
        case 0: person.leave(id)
        case 1, 2:
            person.sent += 1
            let draft = Draft(
                id: "\(person.user)-\(person.sent)", body: "draft \(turn)", createdAt: now)
            if person.windows[id] != nil { person.session.send(draft, to: id) }
        case 3, 4: person.loadOlder(id, limit: random.number(1...30))
        case 5: person.fillGap(id, limit: random.number(1...30))
        default: person.enter(id)
        }
    }

    /// Everybody subscribes again to what they have left or lost, and asks for what is missing.
    private func heal(_ person: Inhabitant) {
        person.connection?.pace = .max
        for id in Self.conversations {
            if origin.log(id)?.ended != nil || origin.log(id) == nil { create(id) }
            if person.session.state.isLive { person.enterAgain(id) }
            person.fillGap(id, limit: 100)
        }
    }

    // MARK: The gateway and the network

    private func restart() {
        for person in people { lose(person) }
        // What the old process had not been told, nobody waits for.
        feed = Feed()
        engine = Self.engine(scenario, now)
    }

    private func lose(_ person: Inhabitant) {
        guard let connection = person.connection else { return }
        person.connection = nil
        engine.closed(connection.session)
        person.session.closed(code: connection.socket.closing?.rawValue, instant)
        perform(person)
    }

    private func perform(_ person: Inhabitant) {
        while true {
            let actions = person.session.takeActions()
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .ask(let attempt, _):
                    person.session.credentials(.user(person.user), attempt: attempt, instant)
                case .connect:
                    nextSession += 1
                    engine.connected(nextSession, at: now)
                    person.connection = Inhabitant.Connection(
                        session: nextSession, socket: Socket(capacity: scenario.socket))
                    person.session.opened(instant)
                case .write(let text):
                    guard let connection = person.connection else { continue }
                    engine.received(
                        connection.session, RequestFrame.decode(text, isBinary: false), at: now)
                case .disconnect:
                    if let connection = person.connection { engine.closed(connection.session) }
                    person.connection = nil
                case .tell(let conversation, let update): person.take(update, of: conversation)
                case .answer, .tellList, .state, .save, .saveList, .belongs, .unread, .presence,
                    .settled:
                    break
                }
            }
        }
    }

    fileprivate func person(of session: SessionID) -> Inhabitant? {
        people.first { $0.connection?.session == session }
    }

    fileprivate func flush(_ session: SessionID) {
        guard let person = person(of: session) else { return }
        var more = true
        while more, person.connection != nil {
            var count = 0
            more = engine.sockets.take(session, scenario.write) {
                person.connection?.socket.send($0.bytes)
                count += $0.bytes.count
            }
            let unsent = person.connection?.socket.unsent ?? 0
            person.connection?.socket.reported = unsent
            if count == 0 { return }
            if unsent > 0 { return engine.sockets.blocked(session, unsent: unsent) }
        }
    }

    private func read(_ person: Inhabitant) throws {
        guard let connection = person.connection else { return }
        let frames = person.connection?.socket.read(isCalm ? .max : connection.pace) ?? []
        let unsent = person.connection?.socket.unsent ?? 0
        let isMoved = unsent < person.connection?.socket.reported ?? 0
        person.connection?.socket.reported = unsent
        if isMoved { engine.sockets.progressed(connection.session, unsent: unsent, at: now) }
        for frame in frames {
            guard person.connection?.session == connection.session else { return }
            switch try ReceivedFrame(frame) {
            case .ping: engine.ponged(connection.session, at: now)
            case .text(let payload):
                person.session.received(payload, instant)
                perform(person)
                judged += 1
                for id in Self.conversations { try person.check(id, in: self) }
            }
        }
        if let socket = person.connection?.socket, socket.closing != nil, socket.isEmpty {
            lose(person)
        }
    }

    // MARK: Rest

    private func isWhole(_ person: Inhabitant) -> Bool { person.trouble(in: self) == nil }

    private func checkRest(_ person: Inhabitant) throws {
        for id in Self.conversations {
            try person.check(id, in: self)
            try person.checkArrivals(id, in: self)
        }
    }
}

extension SessionWorld: TurnEffects {
    func moment() -> Moment { Moment(now: now, instant: .milliseconds(now.milliseconds)) }

    func usage() -> ThreadUsage { ThreadUsage(ran: moment().instant) }

    func perform(_ call: UpstreamCall) {
        switch call {
        case .perform(let operation, let caller, let token):
            let performed = origin.perform(operation, by: caller)
            for event in performed.events { feed.append(.event(event), commit: origin.commit) }
            feed.append(.performed(token: token, performed.result), commit: origin.commit)
        case .publish(let event): feed.append(.event(event), commit: origin.commit)
        case .ask, .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .forkEpoch,
            .disconnect, .presence:
            preconditionFailure("a question for a log that lives elsewhere")
        }
    }

    func handOver() {}

    func store(_ token: UInt64, _ writes: [StoreWrite]) -> Bool {
        preconditionFailure("a write for the cache of a log that lives elsewhere")
    }

    func answer(_ read: CacheRead) -> Result<Answer, RequestError>? { look(read) }

    func beginSlow(_ read: CacheRead) { turns.finishSlow(read, look(read), at: now, self) }

    private func look(_ read: CacheRead) -> Result<Answer, RequestError> {
        origin.archive.answer(read.query, atCommit: origin.commit, told: feed.position)
    }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        for session in sessions where !engine.sockets.isBlocked(session.id) { flush(session.id) }
    }

    func write(_ sessions: consuming [Session]) -> Duration? {
        for session in sessions.map(\.id).sorted() { flush(session) }
        return nil
    }

    func close(_ session: SessionID, _ code: CloseCode) {
        person(of: session)?.connection?.socket.closing = code
    }

    /// A client of this world says little, and is heard whatever it is owed.
    func throttle(_ session: SessionID, _ isThrottled: Bool) {}
}
