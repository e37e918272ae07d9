import Chat
import Engine
import Ports
import Wire

/// Damaged logs, as a gateway learns of them: with each answer, by the adapter that asked.
extension GatewayShell {
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
            if isNews { gateway.costs[conversation]?.damage() }
        }
        if isNews { run.say("gateway \(gateway.place) knows \(conversation): \(part ?? "whole")") }
        gateway.engine?.damaged(conversation, part, at: run.now)
    }
}
