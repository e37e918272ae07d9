import Engine
import Ports
import Wire

/// Applications that write in transactions of their own: each locks its conversations, and its
/// writes appear together when it commits. Transactions need not commit in the order in which they
/// began, and some are rolled back.
extension Backend {
    struct Transaction {
        let conversations: [String]
        let begun: Int
        let due: Int
        let isRolledBack: Bool
    }

    /// How many turns a write waits for a locked conversation.
    private static let patience = 4

    func isLocked(_ operation: Operation) -> Bool {
        guard let id = operation.written else { return false }
        return transactions.contains { $0.conversations.contains(id) }
    }

    /// Whether a client's write still waits for the end of a transaction.
    func waits(_ operation: Operation, since due: Int) -> Bool {
        run.turn < due + Self.patience && isLocked(operation)
    }

    /// Ends transactions in any order, and begins others.
    func transact() {
        let ended = transactions.filter { $0.due <= run.turn || run.isCalm }
        transactions.removeAll { $0.due <= run.turn || run.isCalm }
        for transaction in ended where !transaction.isRolledBack {
            if transactions.contains(where: { $0.begun < transaction.begun }) { overtaken += 1 }
            commit(transaction)
        }
        guard !run.isCalm, run.random.chance(15) else { return }
        let free = conversations.filter { id in
            !transactions.contains { $0.conversations.contains(id) }
        }
        let locked = free.filter { _ in run.random.chance(50) }
        guard !locked.isEmpty else { return }
        run.say("a transaction locks \(locked)")
        transactions.append(
            Transaction(
                conversations: locked, begun: run.turn, due: run.turn + run.random.number(0...8),
                isRolledBack: run.random.chance(15)))
    }

    /// Nobody else could write to these conversations since they were locked, so deciding run.now
    /// equals deciding then.
    private func commit(_ transaction: Transaction) {
        run.say("a transaction commits to \(transaction.conversations)")
        committing = []
        for _ in 0..<run.random.number(1...6) {
            guard let id = run.random.pick(transaction.conversations) else { continue }
            writeAsBackend(to: id)
            // Applications often change what they just sent before they commit.
            for _ in 0..<run.random.number(0...2) { rewriteNewest(of: id) }
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
            run.random.chance(20)
            ? .delete(conversation: conversation, id: message.id)
            : .edit(conversation: conversation, id: message.id, .init(body: body()))
        perform(operation, by: caller)
    }
}

extension Operation {
    /// The conversation that it writes to, if it names one.
    var written: String? {
        switch self {
        case .create(let id, _, _): id
        case .findDistinct: nil
        case .send(let id, _), .edit(let id, _, _), .delete(let id, _, _), .react(let id, _, _),
            .put(let id, _),
            .update(let id, _), .addParticipants(let id, _), .removeParticipants(let id, _),
            .addAdmins(let id, _), .removeAdmins(let id, _), .deleteConversation(let id),
            .leave(let id), .markRead(let id, _):
            id
        }
    }
}
