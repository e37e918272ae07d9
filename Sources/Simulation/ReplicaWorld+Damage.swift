import Chat
import Engine
import Ports
import Wire

/// Damaged logs at the origin, as a gateway learns of them: with each answer, by the adapter that
/// asked.
extension ReplicaWorld {
    /// Damages a part of a log, or repairs one. It has random draws of its own: a seed must still
    /// give the same world.
    func damageSomething() {
        guard scenario.faults.contains(.damages), !scenario.isRinging else { return }
        for conversation in conversations where origin.damage(of: conversation) != nil {
            if damageRandom.chance(8) { mend(conversation) }
        }
        guard damageRandom.chance(4), let id = damageRandom.pick(conversations),
            origin.log(id) != nil, origin.damage(of: id) == nil,
            let part = damageRandom.pick(Damage.Part.allCases),
            let harm = damageRandom.pick(Damage.Harm.allCases)
        else { return }
        injected[.damages, default: 0] += 1
        say("the part \(part.rawValue) of \(id) is \(harm.rawValue)")
        origin.harm(id, Damage(part, harm))
    }

    /// Enables damage in this world.
    /// - Parameter looks: whether the origin checks before it answers; otherwise it serves what is
    ///   left, which the oracle must detect.
    package func damages(looks: Bool) {
        scenario.faults.insert(.damages)
        origin.looks = looks
    }

    func mendEverything() { for conversation in conversations { mend(conversation) } }

    private func mend(_ conversation: String) {
        guard origin.damage(of: conversation) != nil else { return }
        say("\(conversation) is mended")
        let commit = origin.commit
        origin.mend(conversation)
        if origin.commit > commit { lose(conversation) }
    }

    /// The answer shows the adapter that a log is damaged, or no longer is.
    func noteDamage(_ fetch: Gateway.Fetch, _ gateway: Gateway) {
        guard case .history(let query) = fetch.subject, let read = fetch.read else { return }
        switch (query, read.result) {
        case (.heads, .success(.heads(let heads, let damaged))):
            for (id, part) in damaged.sorted(by: { $0.key.text < $1.key.text }) {
                tell(id.text, part, gateway)
            }
            for id in heads.keys.map(\.text).sorted() { tell(id, nil, gateway) }
        case (_, .success): query.conversation.map { tell($0, nil, gateway) }
        case (_, .failure(let error)):
            if let id = query.conversation, let part = error.damagedPart { tell(id, part, gateway) }
        }
    }

    func noteDamage(
        _ operation: Operation, _ result: Result<Outcome, RequestError>, _ gateway: Gateway
    ) {
        guard let id = operation.written else { return }
        switch result {
        case .success: tell(id, nil, gateway)
        case .failure(let error): error.damagedPart.map { tell(id, $0, gateway) }
        }
    }

    private func tell(_ conversation: String, _ part: String?, _ gateway: Gateway) {
        let isNews = gateway.damaged.contains(conversation) != (part != nil)
        guard isNews || part != nil else { return }
        if part == nil {
            gateway.damaged.remove(conversation)
        } else {
            gateway.damaged.insert(conversation)
        }
        if isNews { say("gateway \(gateway.place) knows \(conversation): \(part ?? "whole")") }
        gateway.engine?.damaged(conversation, part, at: now)
    }
}

extension HistoryQuery {
    /// The one log that it is about; nil for others.
    var conversation: String? {
        switch self {
        case .conversation(let id, _), .message(let id, _), .page(let id, _),
            .changes(let id, _, _, _, _), .participants(let id, _):
            id
        case .conversations, .conversationsSince, .listed, .heads: nil
        }
    }
}
