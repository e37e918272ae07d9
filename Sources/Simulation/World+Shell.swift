import Chat
import Engine
import JSON
import Ports
import Wire

/// The shell around the engine, as the gateway's driver is around it: it does what the engine
/// decides, and brings frames from one side to the other.
extension World {
    // MARK: - The turn

    /// Does what the engine decided, as the gateway's driver does it.
    func endTurn() throws(Violation) {
        var rounds = 0
        repeat {
            rounds += 1
            try require(rounds < 1000, "the turn does not come to its end")
            engine.endTurn(at: now, instant: now.instant)
        } while performActions()
        let sessions = engine.takeDirtySessions().map(\.id).sorted()
        for session in sessions { flush(session) }
        pace?.wrote(sessions, of: engine, at: now)
        for (session, code) in engine.takeCloses() {
            guard let place = place(of: session) else { continue }
            say("\(clients[place].name) is closed: \(code)")
            connections[place]?.socket.closing = code
            connections[place]?.deadline = turn + 20
        }
        try checkBooks()
    }

    private func performActions() -> Bool {
        let actions = engine.takeActions()
        for action in actions {
            switch action {
            case .read(let token, let query):
                read(token, query)
            case .perform(let token, let operation, let caller):
                let delay = !isCalm && random.chance(scenario.late) ? scenario.delay : 1
                writes.append((turn + random.number(0...delay), token, operation, caller))
            case .publish(let event):
                feed.append(.event(event), commit: origin.commit)
            case .store, .fetch, .subscribe, .unsubscribe, .subscribeList, .unsubscribeList,
                .disown:
                preconditionFailure("a question for a log that lives elsewhere")
            }
        }
        return !actions.isEmpty
    }

    /// Answers a read as of some moment: at least the one that the feed has reached, as long as the
    /// question does not say that the engine looks at the moment itself.
    private func read(_ token: UInt64, _ query: Query) {
        guard engine.waits(for: token) else { return }
        var commit = random.number(max(feed.position, readCommit)...origin.commit)
        if isCalm || random.chance(50) { commit = origin.commit }
        readCommit = commit
        if !isCalm, let conversation = query.boundTo, random.chance(scenario.behind) {
            // Within the same log: of two epochs nobody can tell which is the later one.
            let earlier = random.number(max(0, feed.position - 5)...feed.position)
            let log = origin.log(conversation, atCommit: earlier)
            if log?.ended == nil { commit = earlier }
        }
        let result = origin.answer(query, atCommit: commit, told: feed.position)
        say("read \(token): \(query.line) at commit \(commit)")
        if !isCalm, random.chance(scenario.late) {
            count(.late)
            answers.append((turn + random.number(1...scenario.delay), token, result))
        } else {
            engine.answered(token, result, at: now)
        }
    }

    private func flush(_ session: SessionID) {
        guard let place = place(of: session) else { return }
        connections[place]?.socket.fill(from: engine, session, scenario.write)
    }

    private func place(of session: SessionID) -> Int? {
        connections.first { $0.value.session == session }?.key
    }

    // MARK: - Connections

    func connect(_ place: Int) {
        nextSession += 1
        say("\(clients[place].name) connects as session \(nextSession)")
        connections[place] = Connection(
            session: nextSession, socket: Socket(capacity: scenario.socket), pace: .max)
        engine.connected(nextSession, at: now)
        send(place, clients[place].connect())
    }

    func send(_ place: Int, _ payload: [UInt8]) {
        guard let connection = connections[place] else { return }
        say("\(clients[place].name) sends \(String(decoding: payload, as: UTF8.self))")
        engine.received(
            connection.session, RequestFrame.decode(payload, isBinary: false), at: now)
    }

    func disconnect(_ place: Int) throws(Violation) {
        guard var connection = connections.removeValue(forKey: place) else { return }
        say("\(clients[place].name) is gone")
        for frame in connection.socket.read(.max) { lostDeltas += try ReceivedFrame(frame).deltas }
        clients[place].disconnect()
        engine.closed(connection.session)
    }

    func readSockets() throws(Violation) {
        for place in connections.keys.sorted() {
            guard var connection = connections[place] else { continue }
            let frames = connection.socket.read(isCalm ? .max : connection.pace)
            let unsent = connection.socket.unsent
            let isMoved = unsent < connection.socket.reported
            connection.socket.reported = unsent
            connections[place] = connection
            if isMoved { engine.progressed(connection.session, unsent: unsent, at: now) }
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
            engine.ponged(connection.session, at: now)
        case .text(let payload):
            say("\(clients[place].name) gets \(String(decoding: payload, as: UTF8.self))")
            do throws(Violation) {
                try clients[place].receive(payload, Oracle(origin: origin))
            } catch {
                throw Violation("\(clients[place].name): \(error)")
            }
        }
    }
}

/// Lets everybody in under the name that they give.
struct OpenDoor: Authenticator {
    func identify(token: String?, user: String?, at now: Timestamp) -> Result<Identity, Refusal> {
        guard let user else { return .failure(.request(.badRequest("params.user: missing"))) }
        return .success(Identity(user: user))
    }
}
