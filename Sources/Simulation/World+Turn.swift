import Chat
import Engine
import Ports
import Wire

/// The effects of a turn in a world whose log is the gateway's own.
extension World: TurnEffects {
    package typealias Failure = Violation

    package func moment() -> Moment { Moment(now: run.now, instant: clock.instant) }

    package func usage() -> ThreadUsage { clock.usage }

    package func perform(_ call: UpstreamCall) throws(Violation) {
        effects += 1
        try require(effects < 10_000, "the turn does not come to its end")
        switch call {
        case .perform(let operation, let caller, let token):
            let delay = !run.isCalm && run.random.chance(scenario.late) ? scenario.delay : 1
            late.writes.append((run.turn + run.random.number(0...delay), token, operation, caller))
        case .publish(let event):
            feed.append(.event(event), commit: origin.commit)
        case .ask, .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .forkEpoch,
            .disconnect, .presence:
            throw Violation("a question for a log that lives elsewhere")
        }
    }

    package func handOver() {}

    package func store(_ token: UInt64, _ writes: [StoreWrite]) throws(Violation) -> Bool {
        throw Violation("a write for the cache of a log that lives elsewhere")
    }

    // MARK: - Reads

    package func answer(_ read: CacheRead) -> Result<Answer, RequestError>? {
        if !run.isCalm { clock.read() }
        let result = look(read)
        guard !run.isCalm, run.random.chance(scenario.late) else { return result }
        run.count(.late)
        late.answers.append(
            LateAnswer(
                due: run.turn + run.random.number(1...scenario.delay), read: read, result: result,
                isSlow: false))
        return nil
    }

    package func beginSlow(_ read: CacheRead) {
        let due = run.turn + run.random.number(1...scenario.delay)
        late.answers.append(LateAnswer(due: due, read: read, result: look(read), isSlow: true))
    }

    /// Answers a read as of some moment, not before the one that the feed has reached unless the
    /// engine checks the answer's head itself.
    private func look(_ read: CacheRead) -> Result<Answer, RequestError> {
        let query = read.query
        var commit = run.random.number(max(feed.position, late.readCommit)...origin.commit)
        if run.isCalm || run.random.chance(50) { commit = origin.commit }
        late.readCommit = commit
        if !run.isCalm, let conversation = query.boundTo, run.random.chance(scenario.behind) {
            // Within the same log: nobody can tell which of two epochs is later.
            let earlier = run.random.number(max(0, feed.position - 5)...feed.position)
            let log = origin.log(conversation, atCommit: earlier)
            if log?.ended == nil { commit = earlier }
        }
        run.say("read \(read.token): \(query.line) at commit \(commit)")
        return origin.archive.answer(query, atCommit: commit, told: feed.position)
    }

    package func finished(_ read: CacheRead, flush sessions: [Session]) {
        for session in sessions { connections.flush(session.id, engine) }
    }

    // MARK: - Sockets

    package func write(_ sessions: consuming [Session]) -> Duration? {
        for session in sessions.map(\.id).sorted() { connections.flush(session, engine) }
        return pace?.wrote()
    }

    package func close(_ session: SessionID, _ code: CloseCode) {
        connections.close(session, code)
    }

    package func throttle(_ session: SessionID, _ isThrottled: Bool) {
        connections.throttle(session, isThrottled)
    }
}
