import Engine
import Ports
import Wire

/// A feed that only notifies: the changes are read later, at one moment, and passed to the engine
/// together.
extension GatewayShell {
    func ask(_ question: Doorbells.Question?, _ gateway: Gateway) {
        guard let question else { return }
        run.say(
            "gateway \(gateway.place) reads \(question.conversation)"
                + " above \(question.position.rev)")
        let readAt = delay()
        gateway.flight.chains.append(
            Gateway.Chain(
                question: question, readAt: readAt, due: max(readAt, delay()),
                isFailing: run.strikes(.failures)))
    }

    /// The answer gives the heads of conversations.
    func learn(_ fetch: Gateway.Fetch, _ gateway: Gateway) {
        guard scenario.isRinging, case .success(let answer) = fetch.read?.result else { return }
        var heads: [String: Head] = [:]
        switch (answer, fetch.subject) {
        case (.conversation(let view), _): heads[view.record.id] = view.head
        case (.changes(let changes), .history(let query)):
            if let id = query.conversation { heads[id] = changes.head }
        case (.heads(let all, _), _): heads = all.byText
        default: break
        }
        for (id, head) in heads.sorted(by: { $0.key < $1.key }) {
            guard let taken = gateway.link.learn(head, of: id) else { continue }
            if taken.isBroken { joinFeed(id, gateway) }
            ask(taken.next, gateway)
        }
    }

    func deliverChains(_ gateway: Gateway, _ engine: Engine) {
        for at in gateway.flight.chains.indices
        where gateway.flight.chains[at].answer == nil
            && (gateway.flight.chains[at].readAt <= run.turn || run.isCalm)
        {
            gateway.flight.chains[at].answer = read(gateway.flight.chains[at], gateway)
        }
        // The adapter passes on its reads beside a feed after the beginning of that feed.
        func isDue(_ chain: Gateway.Chain) -> Bool {
            chain.answer != nil && (chain.due <= run.turn || run.isCalm)
                && !gateway.link.isJoining(chain.question.conversation)
        }
        let due = gateway.flight.chains.filter(isDue)
        gateway.flight.chains.removeAll(where: isDue)
        for chain in due {
            guard let answer = chain.answer,
                let taken = gateway.link.take(answer, to: chain.question)
            else { continue }
            for event in taken.events {
                run.say("gateway \(gateway.place) has read \(event.line)")
                note(event, gateway)
            }
            engine.feed(taken.events, at: run.now)
            // Reported at once: before every event that the adapter reads from then on.
            if taken.isBroken { joinFeed(chain.question.conversation, gateway) }
            ask(taken.next, gateway)
        }
    }

    private func read(_ chain: Gateway.Chain, _ gateway: Gateway) -> Doorbells.Answer {
        let question = chain.question
        // From another node than the adapter believes in, or from none.
        let isElsewhere =
            gateway.link.isDead || gateway.link.generation != question.generation
        if isElsewhere || chain.isFailing && !run.isCalm || script.held.contains(.origin) {
            return .broken
        }
        let limit = run.strikes(.short, 50) ? scenario.sizes.clamp : Int.max
        return backend.node(of: gateway)
            .chain(above: question.position, of: question.conversation, limit: limit)
    }
}
