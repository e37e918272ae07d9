import Engine
import Ports
import Wire

/// A feed that only notifies: the changes are read later, at one moment, and passed to the engine
/// together.
extension ReplicaWorld {
    func ask(_ question: Doorbells.Question?, _ gateway: Gateway) {
        guard let question else { return }
        say(
            "gateway \(gateway.place) reads \(question.conversation)"
                + " above \(question.position.rev)")
        let readAt = delay()
        gateway.chains.append(
            Gateway.Chain(
                question: question, readAt: readAt, due: max(readAt, delay()),
                isFailing: strikes(.failures)))
    }

    /// The answer gives the heads of conversations.
    func learn(_ fetch: Gateway.Fetch, _ gateway: Gateway) {
        guard scenario.isRinging, case .success(let answer) = fetch.read?.result else { return }
        var heads: [String: Head] = [:]
        switch (answer, fetch.subject) {
        case (.conversation(let view), _): heads[view.record.id] = view.head
        case (.changes(let changes), .history(.changes(let id, _, _, _, _))):
            heads[id] = changes.head
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
        for at in gateway.chains.indices
        where gateway.chains[at].answer == nil && (gateway.chains[at].readAt <= turn || isCalm) {
            gateway.chains[at].answer = read(gateway.chains[at], gateway)
        }
        // The adapter passes on its reads beside a feed after the beginning of that feed.
        func isDue(_ chain: Gateway.Chain) -> Bool {
            chain.answer != nil && (chain.due <= turn || isCalm)
                && !gateway.link.isJoining(chain.question.conversation)
        }
        let due = gateway.chains.filter(isDue)
        gateway.chains.removeAll(where: isDue)
        for chain in due {
            guard let answer = chain.answer,
                let taken = gateway.link.take(answer, to: chain.question)
            else { continue }
            for event in taken.events {
                say("gateway \(gateway.place) has read \(event.line)")
                note(event, gateway)
            }
            engine.feed(taken.events, at: now)
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
        if isElsewhere || chain.isFailing && !isCalm || held.contains(.origin) { return .broken }
        let limit = strikes(.short, 50) ? scenario.clamp : Int.max
        return node(of: gateway)
            .changes(above: question.position, of: question.conversation, limit: limit)
    }
}
