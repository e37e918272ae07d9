import Engine
import Ports
import Wire

/// Applications that write in transactions of their own: each locks the conversations that it
/// writes to, all that it wrote is there at once when it commits, and those that were begun first
/// need not be the first to commit. Some are rolled back.
extension ReplicaWorld {
    struct Transaction {
        let conversations: [String]
        let begun: Int
        let due: Int
        let isRolledBack: Bool
    }

    /// How many turns a write waits for a conversation that is locked.
    private static let patience = 4

    func isLocked(_ operation: Operation) -> Bool {
        guard let id = operation.written else { return false }
        return transactions.contains { $0.conversations.contains(id) }
    }

    /// Whether a write of a client is still waiting for a transaction to end.
    func waits(_ operation: Operation, since due: Int) -> Bool {
        turn < due + Self.patience && isLocked(operation)
    }

    /// Transactions end, in whatever order, and others begin.
    func transact() {
        let ended = transactions.filter { $0.due <= turn || isCalm }
        transactions.removeAll { $0.due <= turn || isCalm }
        for transaction in ended where !transaction.isRolledBack {
            if transactions.contains(where: { $0.begun < transaction.begun }) { overtaken += 1 }
            commit(transaction)
        }
        guard !isCalm, random.chance(15) else { return }
        let free = conversations.filter { id in
            !transactions.contains { $0.conversations.contains(id) }
        }
        let locked = free.filter { _ in random.chance(50) }
        guard !locked.isEmpty else { return }
        say("a transaction locks \(locked)")
        transactions.append(
            Transaction(
                conversations: locked, begun: turn, due: turn + random.number(0...8),
                isRolledBack: random.chance(15)))
    }

    /// Nobody else could write to these conversations meanwhile: what is decided now is what was
    /// decided when they were locked.
    private func commit(_ transaction: Transaction) {
        say("a transaction commits to \(transaction.conversations)")
        committing = []
        for _ in 0..<random.number(1...6) {
            guard let id = random.pick(transaction.conversations) else { continue }
            writeAsBackend(to: id)
            // What an application has just sent it often changes again before it commits.
            for _ in 0..<random.number(0...2) { rewriteNewest(of: id) }
        }
        let events = committing ?? []
        committing = nil
        tell(events, ofOld: false)
    }

    private func rewriteNewest(of conversation: String) {
        guard let log = origin.log(conversation), log.highest >= log.floor else { return }
        let message = log.message(log.highest)
        let caller = Caller.user(message.author)
        let operation: Operation =
            random.chance(20)
            ? .delete(conversation: conversation, id: message.id)
            : .edit(conversation: conversation, id: message.id, .init(body: body()))
        perform(operation, by: caller)
    }
}

extension Operation {
    /// The conversation that it writes to, where it names one.
    var written: String? {
        switch self {
        case .create(let id, _, _): id
        case .findDistinct: nil
        case .send(let id, _), .edit(let id, _, _), .delete(let id, _, _), .put(let id, _),
            .update(let id, _), .addParticipants(let id, _), .removeParticipants(let id, _),
            .addAdmins(let id, _), .removeAdmins(let id, _), .deleteConversation(let id),
            .leave(let id), .markRead(let id, _):
            id
        }
    }
}
