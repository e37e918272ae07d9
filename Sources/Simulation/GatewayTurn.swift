import Chat
import Engine
import Ports
import Wire

/// The effects of a turn at a gateway whose log lives elsewhere. The process may end between any
/// two of them.
struct GatewayTurn: TurnEffects {
    enum Failure: Error {
        /// The process ended, and the turn with it.
        case ended
        case violation(Violation)
    }

    let world: ReplicaWorld
    let gateway: Gateway
    let engine: Engine

    /// - Returns: nil if no process is running.
    init?(_ world: ReplicaWorld, _ gateway: Gateway) {
        guard let engine = gateway.engine else { return nil }
        self.world = world
        self.gateway = gateway
        self.engine = engine
    }

    /// Runs what the end of the process may interrupt.
    func mayEnd(_ body: () throws(Failure) -> Void) throws(Violation) {
        do throws(Failure) {
            try body()
        } catch {
            if case .violation(let violation) = error { throw violation }
        }
    }

    private func judge<Value>(_ body: () throws(Violation) -> Value) throws(Failure) -> Value {
        do throws(Violation) { return try body() } catch { throw .violation(error) }
    }

    /// Counts an effect of this turn; the process may end before it.
    private func count() throws(Failure) {
        gateway.effects += 1
        guard gateway.effects < 10_000 else {
            throw .violation(Violation("the turn does not come to its end"))
        }
        guard let last = gateway.lastAction else { return }
        gateway.lastAction = last - 1
        guard last <= 0 else { return }
        try judge { () throws(Violation) in try world.stop(gateway) }
        throw .ended
    }

    func moment() -> Moment { Moment(now: world.now, instant: world.clock.instant) }

    func perform(_ effect: Turn.UpstreamEffect) throws(Failure) {
        try count()
        if !effect.isVerification { gateway.lastDeed = world.turn }
        switch effect {
        case .fetch(let token, let query):
            try judge { () throws(Violation) in try world.ask(token, .history(query), gateway) }
        case .forkEpoch(let token, let head, let conversation):
            try judge { () throws(Violation) in
                try world.ask(token, .epochFork(head, conversation), gateway)
            }
        case .subscribe(let conversation):
            world.say("gateway \(gateway.place) subscribes \(conversation)")
            gateway.link.subscribe(conversation)
        case .unsubscribe(let conversation):
            world.say("gateway \(gateway.place) unsubscribes \(conversation)")
            gateway.link.unsubscribe(conversation)
        case .subscribeList(let user): gateway.link.watchList(of: user, true)
        case .unsubscribeList(let user): gateway.link.watchList(of: user, false)
        case .perform(let token, let operation, let caller):
            gateway.writes.append((world.delay(), token, operation, caller))
        case .publish(let event): world.tell([event], ofOld: false)
        }
    }

    func handOver() {}

    func store(_ token: UInt64, _ writes: [StoreWrite]) throws(Failure) -> Bool {
        try count()
        gateway.lastDeed = world.turn
        if world.strikes(.stores) {
            world.say("gateway \(gateway.place) can't store \(token)")
            return false
        }
        world.say("gateway \(gateway.place) stores \(token): \(writes.map(\.line))")
        try judge { () throws(Violation) in try world.write(writes, gateway) }
        return true
    }

    // MARK: - Reads

    func answer(_ read: CacheRead) throws(Failure) -> Result<Answer, RequestError>? {
        if !world.isCalm { world.clock.read() }
        try begin(read, isSlow: false)
        return nil
    }

    func beginSlow(_ read: CacheRead) throws(Failure) { try begin(read, isSlow: true) }

    private func begin(_ read: CacheRead, isSlow: Bool) throws(Failure) {
        try count()
        gateway.lastDeed = world.turn
        world.say("gateway \(gateway.place) reads \(read.token): \(read.query.line)")
        gateway.reads.append(
            Gateway.Read(read: read, readAt: world.delay(), due: world.delay(), isSlow: isSlow))
        try judge { () throws(Violation) in try world.deliverReads(gateway) }
    }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        for session in sessions { world.flush(session.id, engine) }
    }

    // MARK: - Sockets

    func write(_ sessions: consuming [Session]) -> Duration? {
        for session in sessions.map(\.id).sorted() { world.flush(session, engine) }
        return world.pace?.wrote()
    }

    func close(_ session: SessionID, _ code: CloseCode) {
        guard let place = world.place(of: session) else { return }
        world.say("\(world.clients[place].name) is closed: \(code)")
        world.connections[place]?.socket.closing = code
        world.connections[place]?.deadline = world.turn + 20
    }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        guard let place = world.place(of: session) else { return }
        world.connections[place]?.line.isThrottled = isThrottled
        world.hear(place)
    }
}

extension ReplicaWorld {
    func flush(_ session: SessionID, _ engine: Engine) {
        guard let place = place(of: session), !engine.sockets.isBlocked(session) else { return }
        connections[place]?.socket.fill(from: engine, session, 65_536)
    }

    /// Passes the client's frames to its gateway, unless its socket is not to be read.
    func hear(_ place: Int) {
        while let frame = connections[place]?.line.next(), let connection = connections[place],
            let engine = gateways[connection.gateway].engine
        {
            engine.received(
                connection.session, RequestFrame.decode(frame, isBinary: false), at: now)
            // Applied before its next frame is read.
            for (session, isThrottled) in engine.takeThrottles() where session == connection.session
            {
                connections[place]?.line.isThrottled = isThrottled
            }
        }
    }
}
