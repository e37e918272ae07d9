import Chat
import Ports
import Wire

/// What became of one of the parts in which a log lies at its origin. The others are as they were,
/// so that they contradict it.
package struct Damage: Sendable, Hashable {
    package enum Part: String, Sendable, CaseIterable {
        case marks, messages, changes, ids, members, reads, deleted, trimmed
    }

    package enum Harm: String, Sendable, CaseIterable {
        case lost, emptied
        /// Its newest value is gone.
        case truncated
        /// It is that of another log.
        case swapped
    }

    package var part: Part
    package var harm: Harm

    package init(_ part: Part, _ harm: Harm) {
        self.part = part
        self.harm = harm
    }
}

/// Single parts of logs that are lost. The log as it was stays known here: it is the truth by which
/// the oracle goes.
extension Origin {
    /// What is wrong with the log that is there now.
    package func damage(of conversation: String) -> Damage? {
        log(conversation) == nil ? nil : damages[conversation]
    }

    package mutating func harm(_ conversation: String, _ damage: Damage) {
        if log(conversation) != nil { damages[conversation] = damage }
    }

    /// Somebody has what is left of it made a log again, of another epoch; lost members are named
    /// anew, and it stays the one that it was.
    package mutating func mend(_ conversation: String) {
        guard let damage = damages.removeValue(forKey: conversation), damage.part != .members,
            var log = log(conversation)
        else { return }
        beginCommit()
        log.ended = commit
        put(log)
        epochs += 1
        put(ModelLog(log, upTo: log.rev, epoch: "e\(epochs)", branch: 0, commit: commit))
    }

    // MARK: - What an origin that looks says

    /// Why the origin answers nothing about it.
    func look(at conversation: String) throws(RequestError) {
        guard looks, let damage = damage(of: conversation) else { return }
        throw .damaged(damage.part.rawValue)
    }

    /// Why the origin answers nothing about a list: the members of a damaged log are in it, and
    /// nobody can say whether the user is one of them.
    func look(atListOf user: String) throws(RequestError) {
        guard looks, !damages.isEmpty else { return }
        for id in conversations where logs[id]?.contains(where: { $0.ever(had: user) }) ?? false {
            try look(at: id)
        }
    }

    /// What is damaged of these, and which part of each.
    func damaged(among ids: [String]) -> [String: String] {
        guard looks else { return [:] }
        var parts: [String: String] = [:]
        for id in ids { parts[id] = damage(of: id)?.part.rawValue }
        return parts
    }

    // MARK: - What one says that does not look

    /// The answer made of what is left, as if it were the log: for showing that an oracle finds it.
    func spoiled(
        _ answer: HistoryAnswer, of conversation: String
    ) throws(RequestError) -> HistoryAnswer {
        guard !looks, let damage = damage(of: conversation) else { return answer }
        switch (damage.part, answer) {
        case (.messages, .page(var page)):
            page.messages = left(of: page.messages, damage) { $0.seq }
            if page.messages.isEmpty { (page.hasMoreBefore, page.hasMoreAfter) = (false, false) }
            return .page(page)
        case (.messages, .changes(var changes)):
            changes.messages = left(of: changes.messages, damage) { $0.seq }
            return .changes(changes)
        case (.changes, .changes(var changes)):
            changes.messages = left(of: changes.messages, damage) { $0.rev }
            if changes.messages.isEmpty { changes.record = nil }
            (changes.upTo, changes.mark, changes.more) = (
                changes.head.rev, changes.head.mark, false
            )
            return .changes(changes)
        case (.members, .conversation), (.members, .page), (.members, .changes):
            throw .noConversation
        case (.members, .participants): return .participants(.init(participants: [], total: 0))
        default: return answer
        }
    }

    /// - Parameter order: by which the newest is known.
    private func left(
        of messages: [EncodedMessage], _ damage: Damage, _ order: (EncodedMessage) -> Int
    ) -> [EncodedMessage] {
        guard damage.harm == .truncated else { return [] }
        let newest = messages.map(order).max()
        return messages.filter { order($0) != newest }
    }
}

extension ModelLog {
    /// Whether the user took part at any time.
    fileprivate func ever(had user: String) -> Bool {
        stride(from: 1, through: rev, by: 1).contains {
            record(asOf: $0).participants.contains(user)
        }
    }
}
