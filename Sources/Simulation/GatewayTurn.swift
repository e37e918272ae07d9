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

    let shell: GatewayShell
    let gateway: Gateway
    let engine: Engine

    /// - Returns: nil if no process is running.
    init?(_ shell: GatewayShell, _ gateway: Gateway) {
        guard let engine = gateway.engine else { return nil }
        self.shell = shell
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
        gateway.act.effects += 1
        guard gateway.act.effects < 10_000 else {
            throw .violation(Violation("the turn does not come to its end"))
        }
        guard let last = gateway.act.last else { return }
        gateway.act.last = last - 1
        guard last <= 0 else { return }
        try judge { () throws(Violation) in try shell.stop(gateway) }
        throw .ended
    }

    func moment() -> Moment { Moment(now: shell.run.now, instant: shell.clock.instant) }

    func usage() -> ThreadUsage { shell.clock.usage }

    func perform(_ call: UpstreamCall) throws(Failure) {
        try count()
        if !call.isVerification { gateway.act.lastDeed = shell.run.turn }
        switch call {
        case .ask(let query, let token):
            try judge { () throws(Violation) in try shell.ask(token, .history(query), gateway) }
        case .forkEpoch(let head, let conversation, let token):
            try judge { () throws(Violation) in
                try shell.ask(token, .epochFork(head, conversation), gateway)
            }
        case .subscribe(let conversation):
            shell.run.say("gateway \(gateway.place) subscribes \(conversation)")
            gateway.link.subscribe(conversation)
        case .unsubscribe(let conversation):
            shell.run.say("gateway \(gateway.place) unsubscribes \(conversation)")
            gateway.link.unsubscribe(conversation)
        case .subscribeList(let user): gateway.link.watchList(of: user, true)
        case .unsubscribeList(let user): gateway.link.watchList(of: user, false)
        case .perform(let operation, let caller, let token):
            gateway.flight.writes.append((shell.delay(), token, operation, caller))
        case .publish(let event): shell.backend.tell([event], ofOld: false)
        case .presence:
            try judge { () throws(Violation) in throw Violation("nobody asks who is there") }
        case .disconnect:
            try judge { () throws(Violation) in throw Violation("a call of the server API") }
        }
    }

    func handOver() {}

    func store(_ token: UInt64, _ writes: [StoreWrite]) throws(Failure) -> Bool {
        try count()
        gateway.act.lastDeed = shell.run.turn
        if shell.run.strikes(.stores) {
            shell.run.say("gateway \(gateway.place) can't store \(token)")
            return false
        }
        shell.run.say("gateway \(gateway.place) stores \(token): \(writes.map(\.line))")
        try judge { () throws(Violation) in try shell.write(writes, gateway) }
        return true
    }

    // MARK: - Reads

    func answer(_ read: CacheRead) throws(Failure) -> Result<Answer, RequestError>? {
        if !shell.run.isCalm { shell.clock.read() }
        try begin(read, isSlow: false)
        return nil
    }

    func beginSlow(_ read: CacheRead) throws(Failure) { try begin(read, isSlow: true) }

    private func begin(_ read: CacheRead, isSlow: Bool) throws(Failure) {
        try count()
        gateway.act.lastDeed = shell.run.turn
        shell.run.say("gateway \(gateway.place) reads \(read.token): \(read.query.line)")
        gateway.flight.reads.append(
            Gateway.Read(read: read, readAt: shell.delay(), due: shell.delay(), isSlow: isSlow))
        try judge { () throws(Violation) in try shell.deliverReads(gateway) }
    }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        for session in sessions { shell.connections.flush(session.id, engine) }
    }

    // MARK: - Sockets

    func write(_ sessions: consuming [Session]) -> Duration? {
        for session in sessions.map(\.id).sorted() { shell.connections.flush(session, engine) }
        return shell.pace?.wrote()
    }

    func close(_ session: SessionID, _ code: CloseCode) {
        shell.connections.close(session, code)
    }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        shell.connections.throttle(session, isThrottled)
    }
}
