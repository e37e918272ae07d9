import Chat
import Engine
import Ports
import Wire

/// The effects of a turn in a world whose log is the gateway's own.
extension World: TurnEffects {
    package typealias Failure = Violation

    package func moment() -> Moment { Moment(now: now, instant: clock.instant) }

    package func perform(_ effect: Turn.UpstreamEffect) throws(Violation) {
        effects += 1
        try require(effects < 10_000, "the turn does not come to its end")
        switch effect {
        case .perform(let token, let operation, let caller):
            let delay = !isCalm && random.chance(scenario.late) ? scenario.delay : 1
            writes.append((turn + random.number(0...delay), token, operation, caller))
        case .publish(let event):
            feed.append(.event(event), commit: origin.commit)
        case .fetch, .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .forkEpoch:
            throw Violation("a question for a log that lives elsewhere")
        }
    }

    package func handOver() {}

    package func store(_ token: UInt64, _ writes: [StoreWrite]) throws(Violation) -> Bool {
        throw Violation("a write for the cache of a log that lives elsewhere")
    }

    // MARK: - Reads

    package func answer(_ read: CacheRead) -> Result<Answer, RequestError>? {
        if !isCalm { clock.read() }
        let result = look(read)
        guard !isCalm, random.chance(scenario.late) else { return result }
        count(.late)
        answers.append(
            LateAnswer(
                due: turn + random.number(1...scenario.delay), read: read, result: result,
                isSlow: false))
        return nil
    }

    package func beginSlow(_ read: CacheRead) {
        let due = turn + random.number(1...scenario.delay)
        answers.append(LateAnswer(due: due, read: read, result: look(read), isSlow: true))
    }

    /// Answers a read as of some moment, not before the one that the feed has reached unless the
    /// engine checks the answer's head itself.
    private func look(_ read: CacheRead) -> Result<Answer, RequestError> {
        let query = read.query
        var commit = random.number(max(feed.position, readCommit)...origin.commit)
        if isCalm || random.chance(50) { commit = origin.commit }
        readCommit = commit
        if !isCalm, let conversation = query.boundTo, random.chance(scenario.behind) {
            // Within the same log: nobody can tell which of two epochs is later.
            let earlier = random.number(max(0, feed.position - 5)...feed.position)
            let log = origin.log(conversation, atCommit: earlier)
            if log?.ended == nil { commit = earlier }
        }
        say("read \(read.token): \(query.line) at commit \(commit)")
        return origin.answer(query, atCommit: commit, told: feed.position)
    }

    package func finished(_ read: CacheRead, flush sessions: [Session]) {
        for session in sessions { flush(session.id) }
    }

    // MARK: - Sockets

    package func write(_ sessions: consuming [Session]) -> Duration? {
        for session in sessions.map(\.id).sorted() { flush(session) }
        return pace?.wrote()
    }

    private func flush(_ session: SessionID) {
        guard let place = place(of: session), !engine.sockets.isBlocked(session) else { return }
        connections[place]?.socket.fill(from: engine, session, scenario.write)
    }

    package func close(_ session: SessionID, _ code: CloseCode) {
        guard let place = place(of: session) else { return }
        say("\(clients[place].name) is closed: \(code)")
        connections[place]?.socket.closing = code
        connections[place]?.deadline = turn + 20
    }

    package func throttle(_ session: SessionID, _ isThrottled: Bool) {
        guard let place = place(of: session) else { return }
        connections[place]?.line.isThrottled = isThrottled
        hear(place)
    }

    /// Passes the client's frames to the engine, unless its socket is not to be read.
    func hear(_ place: Int) {
        while let frame = connections[place]?.line.next(), let connection = connections[place] {
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
