import Chat
import Engine
import Ports
import Wire

/// What reaches a gateway from elsewhere: outputs of its link, answers of cache and origin, results
/// of writes; each after its delay, and subject to faults.
extension ReplicaWorld {
    // MARK: - The link

    func keepLink(_ gateway: Gateway) {
        guard gateway.engine != nil else { return }
        if gateway.link.isDead, isCalm || random.chance(30) {
            say("gateway \(gateway.place) notices that its link is dead")
            gateway.link.notice()
        }
        if gateway.link.generation == 0, !held.contains(.link), isCalm || random.chance(25) {
            gateway.link.connect()
            gateway.losses = [:]
            say("gateway \(gateway.place) has link \(gateway.link.generation)")
        }
        guard !held.contains(.acknowledgements) else { return }
        for conversation in gateway.link.unacknowledged where isCalm || random.chance(50) {
            gateway.link.acknowledge(conversation)
        }
        for user in gateway.link.unacknowledgedLists where isCalm || random.chance(50) {
            gateway.link.acknowledgeList(of: user)
        }
    }

    func deliverFeed(_ gateway: Gateway) {
        guard let engine = gateway.engine, !held.contains(.feed),
            isCalm || gateway.link.stalledUntil <= turn
        else {
            return
        }
        deliverChains(gateway, engine)
        let count = isCalm ? .max : random.number(0...scenario.feed)
        for output in gateway.link.deliver(count) {
            say("gateway \(gateway.place) hears \(output.line)")
            switch output {
            case .event(let event):
                note(event, gateway)
                engine.feed(
                    CollectionOfOne(scenario.hasMany ? event.ofMany : event), at: now)
            case .rung(let id): ask(gateway.link.ring(id), gateway)
            case .subscribed(let id, let generation):
                joinFeed(id, gateway, in: generation)
            case .subscribedList(let user): engine.subscribedList(of: user, at: now)
            case .lapsed(let generation): engine.lapsed(generation: generation, at: now)
            case .state(let state): engine.linked(state, at: now)
            }
        }
    }

    /// From here on the feed covers the conversation: the engine compares heads.
    func joinFeed(_ conversation: String, _ gateway: Gateway, in generation: Int? = nil) {
        let generation = generation ?? gateway.link.generation
        gateway.joinedAfter[conversation] = gateway.lastToken
        gateway.costs[conversation, default: CatchUpCost()]
            .begin(after: gateway.lastToken, generation: generation)
        gateway.engine?.subscribed(conversation, generation: generation, at: now)
    }

    /// The gateway need not ask for what the feed brings; and the end of a log makes everything
    /// asked before it uncertain.
    func note(_ event: FeedEvent, _ gateway: Gateway) {
        switch event {
        case .message(let id, _, _, let head):
            gateway.costs[id]?.hear(head, after: gateway.lastToken)
        case .record(let record, let head, _, _, _):
            gateway.costs[record.id]?.hear(head, after: gateway.lastToken)
        case .deleted(let id, _, _):
            gateway.joinedAfter[id] = gateway.lastToken
            gateway.costs[id]?.hear(nil, after: gateway.lastToken)
        case .read, .listed, .typing: break
        }
    }

    // MARK: - Answers

    func deliverReads(_ gateway: Gateway) throws(Violation) {
        guard let turns = gateway.turns, !held.contains(.reads) else { return }
        var due: [Gateway.Read] = []
        for at in gateway.reads.indices where gateway.reads[at].readAt <= turn || isCalm {
            if gateway.reads[at].result == nil {
                gateway.reads[at].result = gateway.store.answer(gateway.reads[at].read.query)
            }
            if gateway.reads[at].due <= turn || isCalm { due.append(gateway.reads[at]) }
        }
        gateway.reads.removeAll { $0.result != nil && ($0.due <= turn || isCalm) }
        for read in due {
            guard let result = read.result, let turn = GatewayTurn(self, gateway) else { continue }
            say("gateway \(gateway.place) has read \(read.read.token)")
            try turn.mayEnd { () throws(GatewayTurn.Failure) in
                if read.isSlow {
                    try turns.finishSlow(read.read, result, at: now, turn)
                } else {
                    try turns.finish(read.read, result, at: now, turn)
                }
            }
        }
    }

    func deliverFetches(_ gateway: Gateway) throws(Violation) {
        guard let engine = gateway.engine else { return }
        for at in gateway.fetches.indices
        where gateway.fetches[at].read == nil && !held.contains(.questions)
            && (gateway.fetches[at].readAt <= turn || isCalm)
        {
            gateway.fetches[at].read = (turn, answer(gateway.fetches[at], gateway))
        }
        guard !held.contains(.answers) else { return }
        let due = gateway.fetches.filter { $0.read != nil && ($0.due <= turn || isCalm) }
        gateway.fetches.removeAll { $0.read != nil && ($0.due <= turn || isCalm) }
        for fetch in due {
            guard let read = fetch.read else { continue }
            let generation = fetch.generation == gateway.link.generation ? fetch.generation : 0
            say(
                "gateway \(gateway.place) is answered \(fetch.token) in \(generation):"
                    + " \(read.result.line)")
            if generation > 0 {
                note(fetch, gateway)
                learn(fetch, gateway)
                try charge(fetch, gateway)
            }
            noteDamage(fetch, gateway)
            for _ in 0..<(strikes(.repeated) ? 2 : 1) {
                engine.fetched(fetch.token, generation: generation, read.result, at: now)
            }
        }
    }

    private func answer(
        _ fetch: Gateway.Fetch, _ gateway: Gateway
    ) -> Result<HistoryAnswer, RequestError> {
        // From another node than the adapter believes in, or from none.
        let isElsewhere = gateway.link.isDead || gateway.link.generation != fetch.generation
        if held.contains(.origin) { return .failure(.originUnavailable) }
        if fetch.isFailing && !isCalm || isElsewhere || fetch.generation == 0 && !isCalm {
            return .failure(.originUnavailable)
        }
        if held.contains(.kinds) { return fetch.subject.answerToAnother }
        switch fetch.subject {
        case .history(let query):
            return node(of: gateway)
                .answer(query, clamp: strikes(.short, 50) ? scenario.clamp : clamp)
        case .epochFork(let head, let conversation):
            if let part = origin.damaged(among: [conversation])[conversation] {
                return .failure(.damaged(part))
            }
            let commit = origin.commit
            let heads =
                gateway.isWithOld
                ? forkEpochAtOld(head, conversation) : origin.forkEpoch(head, conversation)
            if origin.commit > commit, !gateway.isWithOld { lose(conversation) }
            return .success(.heads(heads.byID))
        }
    }

    /// The conversation changes without any feed reporting it.
    func lose(_ conversation: String) {
        for gateway in gateways where gateway.link.acknowledged.contains(conversation) {
            gateway.losses[conversation] = Gateway.Loss(turn: turn)
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
            gateway.losses[conversation]?.shownAt = now
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
        case .failure: cost.begin(after: gateway.lastToken)
        }
        gateway.costs[conversation] = cost
    }

    // MARK: - Writes

    func write(_ gateway: Gateway) {
        guard let engine = gateway.engine else { return }
        let isDue = gateway.writes.map { write in
            (write.due <= turn || isCalm) && !waits(write.operation, since: write.due)
        }
        let due = zip(gateway.writes, isDue).filter(\.1).map(\.0)
        gateway.writes = zip(gateway.writes, isDue).filter { !$1 }.map(\.0)
        for write in due {
            var result: Result<Outcome, RequestError> = .failure(.originUnavailable)
            let isCut = !gateway.link.isUp
            // Either done without a reply, or not done.
            if !isCut || random.chance(30) {
                let done = perform(write.operation, by: write.caller, atOld: gateway.isWithOld)
                if !isCut, !strikes(.failures) { result = done }
                noteDamage(write.operation, result, gateway)
            }
            let due = strikes(.late, 40) ? turn + random.number(0...scenario.delay) : turn
            gateway.outcomes.append((due, write.token, result))
        }
        for outcome in gateway.outcomes where outcome.due <= turn || isCalm {
            engine.performed(outcome.token, outcome.result, at: now)
        }
        gateway.outcomes.removeAll { $0.due <= turn || isCalm }
    }

    // MARK: - Faults

    /// Random faults.
    func goWrong() throws(Violation) {
        for gateway in gateways {
            guard let engine = gateway.engine else {
                if random.chance(30) { start(gateway) }
                continue
            }
            if random.chance(scenario.rate) { try tidy(gateway, engine) }
            if strikes(.restarts, 2) {
                if random.chance(50) {
                    try stop(gateway)
                } else {
                    gateway.lastAction = random.number(0...3)
                }
                continue
            }
            if gateway.link.isUp, strikes(.lapses, scenario.rate / 2) { cut(gateway) }
            if strikes(.stalls, 2) { gateway.link.stalledUntil = turn + random.number(1...10) }
        }
        if strikes(.failovers, 3) {
            if scenario.isRinging { replacePrimary { loseNewest() } } else { loseNewest() }
            say("another master takes over")
            if !scenario.isRinging {
                for gateway in gateways where gateway.link.isUp { cut(gateway) }
            }
        }
        if strikes(.empties, 1) {
            say("the origin is emptied")
            origin.empty()
            for conversation in conversations { lose(conversation) }
        }
        for place in clients.indices where connections[place] != nil && strikes(.readers, 2) {
            try disconnect(place)
        }
        // A burst makes a long chain: clients join, resume or are removed in the middle of it.
        if random.chance(scenario.bursts), gateways.contains(where: { !$0.link.isUp }) {
            for _ in 0..<random.number(20...80) { writeAsBackend() }
        }
        if random.chance(3) {
            for conversation in conversations {
                origin.forgetMarks(butFor: random.pick([1, 5, 50]) ?? 1, of: conversation)
            }
        }
    }

    private func loseNewest() {
        for conversation in conversations {
            origin.lose(random.upTo(random.pick([1, 2, 10]) ?? 1), of: conversation)
        }
    }

    func cut(_ gateway: Gateway) {
        say("gateway \(gateway.place) loses its link")
        gateway.link.die()
        if random.chance(50) { gateway.link.notice() }
    }
}

extension Gateway.Fetch.Subject {
    /// An answer to another question.
    fileprivate var answerToAnother: Result<HistoryAnswer, RequestError> {
        if case .history(.listed) = self { return .success(.heads([:])) }
        return .success(.listed(ListedHeads(heads: [:], readers: [:])))
    }
}
