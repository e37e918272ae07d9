import Chat
import Engine
import JSON
import Ports
import Wire

/// The shell around each engine, as the gateway's driver is around it.
extension MirrorWorld {
    func start(_ gateway: Gateway) {
        gateway.store.retained = scenario.faults.contains(.trims) ? scenario.kept : 0
        gateway.store.trimmedAtOnce = scenario.trimmed
        gateway.engine = Engine(
            limits: scenario.limits, server: ServerIdentity(name: "gapless", version: "0"),
            authenticator: OpenDoor(), instance: "world\(gateway.place)", sync: scenario.sync,
            at: now)
    }

    /// The gateway's process ends, and all connections with it.
    func stop(_ gateway: Gateway) throws(Violation) {
        say("gateway \(gateway.place) ends")
        for place in connections.keys.sorted()
        where connections[place]?.gateway == gateway.place {
            try disconnect(place)
        }
        // What was asked of the origin may still be done.
        for write in gateway.writes where random.chance(50) {
            perform(write.operation, by: write.caller)
        }
        gateway.stop()
    }

    // MARK: - The turn

    func endTurn(_ gateway: Gateway) throws(Violation) {
        guard let engine = gateway.engine else { return }
        var rounds = 0
        repeat {
            rounds += 1
            try require(rounds < 1000, "the turn does not come to its end")
            engine.endTurn(at: now, instant: now.instant)
        } while try performActions(gateway, engine)
        guard gateway.engine != nil else { return }
        let sessions = engine.takeDirtySessions().map(\.id).sorted()
        for session in sessions { flush(session, engine) }
        pace?.wrote(sessions, of: engine, at: now)
        for (session, code) in engine.takeCloses() {
            guard let place = place(of: session) else { continue }
            say("\(clients[place].name) is closed: \(code)")
            connections[place]?.socket.closing = code
            connections[place]?.deadline = turn + 20
        }
    }

    private func performActions(_ gateway: Gateway, _ engine: Engine) throws(Violation) -> Bool {
        let actions = engine.takeActions()
        for action in actions {
            if let last = gateway.lastAction {
                gateway.lastAction = last - 1
                if last <= 0 {
                    try stop(gateway)
                    return false
                }
            }
            try perform(action, gateway, engine)
        }
        return !actions.isEmpty
    }

    private func perform(
        _ action: Engine.Action, _ gateway: Gateway, _ engine: Engine
    ) throws(Violation) {
        if !action.isVerification { gateway.lastDeed = turn }
        switch action {
        case .read(let token, let query):
            guard engine.waits(for: token) else { return }
            say("gateway \(gateway.place) reads \(token): \(query.line)")
            gateway.reads.append(
                Gateway.Read(token: token, query: query, readAt: delay(), due: delay()))
            deliverReads(gateway)
        case .store(let token, let writes):
            try store(token, writes, gateway, engine)
        case .fetch(let token, let query):
            try ask(token, .history(query), gateway)
        case .disown(let token, let head, let conversation):
            try ask(token, .disowning(head, conversation), gateway)
        case .subscribe(let conversation):
            say("gateway \(gateway.place) subscribes \(conversation)")
            gateway.link.subscribe(conversation)
        case .unsubscribe(let conversation):
            say("gateway \(gateway.place) unsubscribes \(conversation)")
            gateway.link.unsubscribe(conversation)
        case .subscribeList(let user): gateway.link.watchList(of: user, true)
        case .unsubscribeList(let user): gateway.link.watchList(of: user, false)
        case .perform(let token, let operation, let caller):
            gateway.writes.append((delay(), token, operation, caller))
        case .publish(let event): tell(event)
        }
    }

    /// The turn in which something happens that may be late.
    private func delay() -> Int {
        strikes(.late, 40) ? turn + random.number(0...scenario.delay) : turn
    }

    private func store(
        _ token: UInt64, _ writes: [StoreWrite], _ gateway: Gateway, _ engine: Engine
    ) throws(Violation) {
        guard engine.waits(for: token) else { return }
        if strikes(.stores) {
            say("gateway \(gateway.place) can't store \(token)")
            return engine.stored(token, false, at: now)
        }
        say("gateway \(gateway.place) stores \(token): \(writes.map(\.line))")
        try write(writes, gateway)
        engine.stored(token, true, at: now)
    }

    private func write(_ writes: [StoreWrite], _ gateway: Gateway) throws(Violation) {
        let dropped = gateway.store.dropped
        do throws(Violation) {
            try gateway.store.perform(writes)
        } catch {
            throw Violation("gateway \(gateway.place) stores what can't be: \(error)")
        }
        if gateway.store.dropped > dropped { injected[.trims, default: 0] += 1 }
    }

    /// The cache drops by itself what one trim has left.
    func tidy(_ gateway: Gateway, _ engine: Engine) throws(Violation) {
        guard let conversation = random.pick(gateway.store.untrimmed) else { return }
        say("gateway \(gateway.place) trims \(conversation)")
        try write([.trim(conversation: conversation)], gateway)
        engine.trimmed(
            conversation, gateway.store.answer(.load(conversation: conversation)), at: now)
    }

    private func ask(
        _ token: UInt64, _ subject: Gateway.Fetch.Subject, _ gateway: Gateway
    ) throws(Violation) {
        say("gateway \(gateway.place) asks \(token): \(subject.line)")
        if case .history(let query) = subject { asked.append(query) }
        gateway.lastToken = token
        if let conversation = subject.shared {
            // What was asked before the feed was joined, or before it told of another log, does not
            // count, and is asked again.
            let joined = max(
                gateway.joinedAfter[conversation] ?? 0, gateway.costs[conversation]?.doubted ?? 0)
            let twin = gateway.fetches.first {
                $0.subject == subject && $0.generation == gateway.link.generation
                    && $0.token > joined
            }
            try require(twin == nil, "asks twice at once: \(subject.line)")
        }
        let readAt = delay()
        gateway.fetches.append(
            Gateway.Fetch(
                token: token, subject: subject, generation: gateway.link.generation,
                readAt: readAt, due: max(readAt, delay()), isFailing: strikes(.failures)))
    }

    private func flush(_ session: SessionID, _ engine: Engine) {
        guard let place = place(of: session) else { return }
        connections[place]?.socket.fill(from: engine, session, 65_536)
    }

    private func place(of session: SessionID) -> Int? {
        connections.first { $0.value.session == session }?.key
    }

    // MARK: - Connections

    func connect(_ place: Int) {
        guard let gateway = random.pick(gateways) else { return }
        if let last = homes[place], last != gateway.place { injected[.gateways, default: 0] += 1 }
        homes[place] = gateway.place
        connect(place, to: gateway)
    }

    func connect(_ place: Int, to gateway: Gateway) {
        guard let engine = gateway.engine else { return }
        nextSession += 1
        say("\(clients[place].name) connects to gateway \(gateway.place) as \(nextSession)")
        connections[place] = Connection(
            gateway: gateway.place, session: nextSession, socket: Socket(capacity: scenario.socket),
            pace: .max)
        engine.connected(nextSession, at: now)
        send(place, clients[place].connect())
    }

    func send(_ place: Int, _ payload: [UInt8]) {
        guard let connection = connections[place] else { return }
        say("\(clients[place].name) sends \(String(decoding: payload, as: UTF8.self))")
        gateways[connection.gateway].engine?.received(
            connection.session, RequestFrame.decode(payload, isBinary: false), at: now)
    }

    func disconnect(_ place: Int) throws(Violation) {
        guard var connection = connections.removeValue(forKey: place) else { return }
        say("\(clients[place].name) is gone")
        for frame in connection.socket.read(.max) { lostDeltas += try ReceivedFrame(frame).deltas }
        clients[place].disconnect()
        gateways[connection.gateway].engine?.closed(connection.session)
    }

    func readSockets() throws(Violation) {
        for place in connections.keys.sorted() {
            guard var connection = connections[place] else { continue }
            let engine = gateways[connection.gateway].engine
            let frames = connection.socket.read(connection.pace)
            let unsent = connection.socket.unsent
            let isMoved = unsent < connection.socket.reported
            connection.socket.reported = unsent
            connections[place] = connection
            if isMoved { engine?.progressed(connection.session, unsent: unsent, at: now) }
            for frame in frames { try receive(place, frame) }
            let isOver =
                connection.deadline.map { $0 <= turn || connection.socket.isEmpty } ?? false
            if isOver { try disconnect(place) }
        }
    }

    private func receive(_ place: Int, _ frame: [UInt8]) throws(Violation) {
        guard let connection = connections[place] else { return }
        switch try ReceivedFrame(frame) {
        case .ping:
            gateways[connection.gateway].engine?.ponged(connection.session, at: now)
        case .text(let payload):
            say("\(clients[place].name) gets \(String(decoding: payload, as: UTF8.self))")
            do throws(Violation) {
                try clients[place].receive(payload, Oracle(origin: origin, isMirrored: true))
            } catch {
                throw Violation("\(clients[place].name): \(error)")
            }
        }
    }
}
