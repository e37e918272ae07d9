import Chat
import Ports
import Wire

/// Logs that are put back while their feeds go on: a server that loads an older file, an operator
/// who restores one conversation.
extension Backend {
    /// Puts a log back, and often has it grow at once, past its old end or not. It has random draws
    /// of its own: a seed must still give the same world.
    func forkSomething() {
        guard run.faults.contains(.forks), forkRandom.chance(5),
            let conversation = forkRandom.pick(conversations), let log = origin.log(conversation),
            log.rev > 1, origin.damage(of: conversation) == nil
        else { return }
        run.count(.forks)
        let count = forkRandom.upTo(forkRandom.pick([1, 3, 10]) ?? 1)
        run.say("\(conversation) is put back by \(count)")
        origin.lose(count, of: conversation)
        lose(conversation)
        // What a gateway asked before may be asked again of this branch.
        for gateway in gateways {
            gateway.unheardForks.insert(conversation)
            gateway.costs[conversation, default: CatchUpCost()]
                .fork(after: gateway.flight.lastToken)
        }
        for number in 0..<(forkRandom.chance(30) ? 0 : forkRandom.number(1...8)) {
            let author = forkRandom.pick(users) ?? "ann"
            let content = MessageContent(body: "on branch \(origin.commit), \(number)")
            perform(
                .send(
                    conversation: conversation, [NewMessage(author: author, content: content)]),
                by: .server)
        }
    }
}
