import Chat
import Engine
import Ports
import Wire

/// What reaches a gateway from elsewhere: outputs of its link, answers of cache and origin, results
/// of writes; each after its delay, and subject to faults.
extension GatewayShell {
    // MARK: - The link

    func keepLink(_ gateway: Gateway) {
        guard gateway.engine != nil else { return }
        if gateway.link.isDead, run.isCalm || run.random.chance(30) {
            run.say("gateway \(gateway.place) notices that its link is dead")
            gateway.link.notice()
        }
        if gateway.link.generation == 0, !script.held.contains(.link),
            run.isCalm || run.random.chance(25)
        {
            gateway.link.connect()
            gateway.losses = [:]
            gateway.unheardForks = []
            run.say("gateway \(gateway.place) has link \(gateway.link.generation)")
        }
        guard !script.held.contains(.acknowledgements) else { return }
        for conversation in gateway.link.unacknowledged where run.isCalm || run.random.chance(50) {
            gateway.link.acknowledge(conversation)
        }
        for user in gateway.link.unacknowledgedLists where run.isCalm || run.random.chance(50) {
            gateway.link.acknowledgeList(of: user)
        }
    }

    func deliverFeed(_ gateway: Gateway) {
        guard let engine = gateway.engine, !script.held.contains(.feed),
            run.isCalm || gateway.link.stalledUntil <= run.turn
        else {
            return
        }
        deliverChains(gateway, engine)
        let count = run.isCalm ? script.feed : run.random.number(0...scenario.sizes.feed)
        for output in gateway.link.deliver(count) {
            run.say("gateway \(gateway.place) hears \(output.line)")
            switch output {
            case .event(let event):
                note(event, gateway)
                engine.feed(
                    CollectionOfOne(scenario.hasMany ? event.ofMany : event), at: run.now)
            case .rung(let id): ask(gateway.link.ring(id), gateway)
            case .subscribed(let id, let generation):
                joinFeed(id, gateway, in: generation)
            case .subscribedList(let user): engine.subscribedList(of: user, at: run.now)
            case .lapsed(let generation): engine.lapsed(generation: generation, at: run.now)
            case .state(let state): engine.linked(state, at: run.now)
            }
        }
    }

    /// From here on the feed covers the conversation: the engine compares heads.
    func joinFeed(_ conversation: String, _ gateway: Gateway, in generation: Int? = nil) {
        let generation = generation ?? gateway.link.generation
        gateway.joinedAfter[conversation] = gateway.flight.lastToken
        gateway.costs[conversation, default: CatchUpCost()]
            .begin(after: gateway.flight.lastToken, generation: generation)
        gateway.engine?.subscribed(conversation, generation: generation, at: run.now)
    }

    /// The gateway need not ask for what the feed brings; and the end of a log makes everything
    /// asked before it uncertain.
    func note(_ event: FeedEvent, _ gateway: Gateway) {
        switch event {
        case .message(let id, _, _, let head, _): note(head, of: id, gateway)
        case .record(let record, let head, _, _, _, _): note(head, of: record.id, gateway)
        case .deleted(let id, _, _):
            gateway.joinedAfter[id] = gateway.flight.lastToken
            gateway.costs[id]?.hear(nil, after: gateway.flight.lastToken)
        case .read, .listed, .typing: break
        }
    }

    private func note(_ head: Head, of conversation: String, _ gateway: Gateway) {
        gateway.costs[conversation]?.hear(head, after: gateway.flight.lastToken)
        // What the feed still had of a branch that was lost looks like the present until the heads
        // are compared next.
        if let log = backend.origin.log(conversation), log.epoch == head.epoch, !log.has(head) {
            gateway.losses[conversation] = Gateway.Loss(turn: run.turn)
        }
    }

    // MARK: - Answers

    func deliverReads(_ gateway: Gateway) throws(Violation) {
        guard let turns = gateway.turns, !script.held.contains(.reads) else { return }
        var due: [Gateway.Read] = []
        for at in gateway.flight.reads.indices
        where gateway.flight.reads[at].readAt <= run.turn || run.isCalm {
            if gateway.flight.reads[at].result == nil {
                gateway.flight.reads[at].result = gateway.store.answer(
                    gateway.flight.reads[at].read.query)
            }
            if gateway.flight.reads[at].due <= run.turn || run.isCalm {
                due.append(gateway.flight.reads[at])
            }
        }
        gateway.flight.reads.removeAll { $0.result != nil && ($0.due <= run.turn || run.isCalm) }
        for read in due {
            guard let result = read.result, let turn = GatewayTurn(self, gateway) else { continue }
            run.say("gateway \(gateway.place) has read \(read.read.token)")
            try turn.mayEnd { () throws(GatewayTurn.Failure) in
                if read.isSlow {
                    try turns.finishSlow(read.read, result, at: run.now, turn)
                } else {
                    try turns.finish(read.read, result, at: run.now, turn)
                }
            }
        }
    }

    func deliverFetches(_ gateway: Gateway) throws(Violation) {
        guard let engine = gateway.engine else { return }
        for at in gateway.flight.fetches.indices
        where gateway.flight.fetches[at].read == nil && !script.held.contains(.questions)
            && (gateway.flight.fetches[at].readAt <= run.turn || run.isCalm)
        {
            gateway.flight.fetches[at].read = (
                run.turn, answer(gateway.flight.fetches[at], gateway)
            )
        }
        guard !script.held.contains(.answers) else { return }
        let due = gateway.flight.fetches.filter {
            $0.read != nil && ($0.due <= run.turn || run.isCalm)
        }
        gateway.flight.fetches.removeAll { $0.read != nil && ($0.due <= run.turn || run.isCalm) }
        for fetch in due {
            guard let read = fetch.read else { continue }
            let generation = fetch.generation == gateway.link.generation ? fetch.generation : 0
            run.say(
                "gateway \(gateway.place) is answered \(fetch.token) in \(generation):"
                    + " \(read.result.line)")
            if generation > 0 {
                note(fetch, gateway)
                learn(fetch, gateway)
                try charge(fetch, gateway)
            }
            noteDamage(fetch, gateway)
            for _ in 0..<(run.strikes(.repeated) ? 2 : 1) {
                engine.fetched(fetch.token, generation: generation, read.result, at: run.now)
            }
        }
    }

    private func answer(
        _ fetch: Gateway.Fetch, _ gateway: Gateway
    ) -> Result<HistoryAnswer, RequestError> {
        // From another node than the adapter believes in, or from none.
        let isElsewhere = gateway.link.isDead || gateway.link.generation != fetch.generation
        if script.held.contains(.origin) { return .failure(.originUnavailable) }
        if fetch.isFailing && !run.isCalm || isElsewhere || fetch.generation == 0 && !run.isCalm {
            return .failure(.originUnavailable)
        }
        if script.held.contains(.kinds) { return fetch.subject.answerToAnother }
        switch fetch.subject {
        case .history(let query):
            return backend.node(of: gateway)
                .answer(query, clamp: run.strikes(.short, 50) ? scenario.sizes.clamp : script.clamp)
        case .epochFork(let head, let conversation):
            backend.origin.doubted.insert(conversation)
            if let part = backend.origin.damaged(among: [conversation])[conversation] {
                return .failure(.damaged(part))
            }
            let commit = backend.origin.commit
            let heads =
                gateway.isWithOld
                ? backend.forkEpochAtOld(head, conversation)
                : backend.origin.forkEpoch(head, conversation)
            if backend.origin.commit > commit, !gateway.isWithOld { backend.lose(conversation) }
            return .success(.heads(heads.byID))
        }
    }

    /// The answer shows the gateway what its feed has lost.
    private func note(_ fetch: Gateway.Fetch, _ gateway: Gateway) {
        guard case .history(.heads(let asked)) = fetch.subject, let read = fetch.read,
            case .success(.heads(_, let damaged)) = read.result
        else { return }
        for (conversation, loss) in gateway.losses
        where loss.turn < read.turn && loss.shownAt == nil && asked.contains(conversation)
            && damaged[conversation.id] == nil
        {
            gateway.losses[conversation]?.shownAt = run.now
        }
    }

    /// Nothing that an answer brought may be asked for again.
    private func charge(_ fetch: Gateway.Fetch, _ gateway: Gateway) throws(Violation) {
        guard case .history(let query) = fetch.subject, let conversation = query.log,
            let read = fetch.read
        else { return }
        var cost = gateway.costs[conversation] ?? CatchUpCost()
        switch read.result {
        case .success(let answer):
            do throws(Violation) {
                try cost.take(
                    query, answer, token: fetch.token, generation: fetch.generation)
            } catch {
                throw Violation("gateway \(gateway.place), \(conversation): \(error)")
            }
        case .failure: cost.begin(after: gateway.flight.lastToken)
        }
        gateway.costs[conversation] = cost
    }

    // MARK: - Writes

    func write(_ gateway: Gateway) {
        guard let engine = gateway.engine else { return }
        let isDue = gateway.flight.writes.map { write in
            (write.due <= run.turn || run.isCalm)
                && !backend.waits(write.operation, since: write.due)
        }
        let due = zip(gateway.flight.writes, isDue).filter(\.1).map(\.0)
        gateway.flight.writes = zip(gateway.flight.writes, isDue).filter { !$1 }.map(\.0)
        for write in due {
            var result: Result<Outcome, RequestError> = .failure(.originUnavailable)
            let isCut = !gateway.link.isUp
            // Either done without a reply, or not done.
            if !isCut || run.random.chance(30) {
                let done = backend.perform(
                    write.operation, by: write.caller, atOld: gateway.isWithOld)
                if !isCut, !run.strikes(.failures) { result = done }
                noteDamage(write.operation, result, gateway)
            }
            let due =
                run.strikes(.late, 40)
                ? run.turn + run.random.number(0...scenario.sizes.delay) : run.turn
            gateway.flight.outcomes.append((due, write.token, result))
        }
        for outcome in gateway.flight.outcomes where outcome.due <= run.turn || run.isCalm {
            engine.performed(outcome.token, outcome.result, at: run.now)
        }
        gateway.flight.outcomes.removeAll { $0.due <= run.turn || run.isCalm }
    }
}

extension Gateway.Fetch.Subject {
    /// An answer to another question.
    fileprivate var answerToAnother: Result<HistoryAnswer, RequestError> {
        if case .history(.listed) = self { return .success(.heads([:])) }
        return .success(.listed(ListedHeads(heads: [:], readers: [:])))
    }
}
