import Engine
import JSON
import Ports
import Wire

/// A primary that was replaced, but goes on answering and taking writes until its gateways find
/// out: what is written to it from then on is lost.
extension Backend {
    /// The node that gets the gateway's questions and writes.
    func node(of gateway: Gateway) -> Origin { gateway.isWithOld ? old ?? origin : origin }

    /// Another primary takes over; some gateways do not notice.
    /// - Parameter lose: makes the origin lose what that costs.
    func replacePrimary(_ lose: () -> Void) {
        for gateway in gateways where gateway.isWithOld { leave(gateway) }
        transactions = []
        old = nil
        let staying = gateways.filter { _ in run.random.chance(50) }.filter(\.link.isUp)
        if !staying.isEmpty {
            old = origin
            replacements += 1
            old?.goesOnAlone(replacements)
        }
        lose()
        for gateway in gateways where gateway.link.isUp {
            if staying.contains(where: { $0 === gateway }) {
                run.say("gateway \(gateway.place) stays with the old primary")
                gateway.withOldUntil = run.turn + run.random.number(1...12)
            } else {
                cut(gateway)
            }
        }
    }

    /// An application still uses the old primary, and gateways find out.
    func keepOldPrimary() {
        for gateway in gateways {
            guard let until = gateway.withOldUntil else { continue }
            if run.isCalm || until <= run.turn || !gateway.link.isUp { leave(gateway) }
        }
        guard !run.isCalm, old != nil, run.random.chance(40),
            let id = run.random.pick(conversations),
            let log = old?.log(id)
        else { return }
        let author = log.record().participants.first ?? "ann"
        let message = NewMessage(author: author, content: MessageContent(body: body()))
        perform(.send(conversation: id, [message]), by: .server, atOld: true)
    }

    private func leave(_ gateway: Gateway) {
        run.say("gateway \(gateway.place) finds the new primary")
        gateway.withOldUntil = nil
        if gateway.link.isUp { cut(gateway) }
        if !gateways.contains(where: \.isWithOld) { old = nil }
    }

    func performAtOld(_ operation: Operation, by caller: Caller) -> Origin.Performed {
        guard var old else { return origin.perform(operation, by: caller) }
        old.follow(origin)
        let performed = old.perform(operation, by: caller)
        keep(old)
        writtenToOld += performed.events.count
        return performed
    }

    /// Gives the old primary's log another epoch.
    func forkEpochAtOld(_ head: Head, _ conversation: String) -> [String: Head] {
        guard var old else { return origin.forkEpoch(head, conversation) }
        old.follow(origin)
        defer { keep(old) }
        return old.forkEpoch(head, conversation)
    }

    private func keep(_ old: Origin) {
        self.old = old
        origin.remember(old)
    }
}
