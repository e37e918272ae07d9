import Chat
import Ports
import Wire

/// Damage to one of the parts of a log at its origin. The other parts are unchanged, so that they
/// contradict it.
package struct Damage: Sendable, Hashable {
    package enum Part: String, Sendable, CaseIterable {
        case marks, messages, changes, ids, members, reads, deleted, trimmed
    }

    package enum Harm: String, Sendable, CaseIterable {
        case lost, emptied
        /// Its newest value is missing.
        case truncated
        /// It is another log's.
        case swapped
    }

    package var part: Part
    package var harm: Harm

    package init(_ part: Part, _ harm: Harm) {
        self.part = part
        self.harm = harm
    }
}

/// Logs with damaged parts. The undamaged log stays known here: it is the truth for the oracle.
extension Origin {
    /// The damage of the present log.
    package func damage(of conversation: String) -> Damage? {
        log(conversation) == nil ? nil : damages[conversation]
    }

    package mutating func harm(_ conversation: String, _ damage: Damage) {
        if log(conversation) != nil { damages[conversation] = damage }
    }

    /// Repairs the log: what is left gets another epoch; if only members were lost, they are named
    /// again and the epoch stays.
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

    // MARK: - An origin that checks

    /// Why the origin does not answer about it.
    func look(at conversation: String) throws(RequestError) {
        guard looks, let damage = damage(of: conversation) else { return }
        throw .damaged(damage.part.rawValue)
    }

    /// Why the origin does not answer about a list: it has a damaged log, whose members are
    /// unknown.
    func look(atListOf user: String) throws(RequestError) {
        guard looks, !damages.isEmpty else { return }
        for id in conversations
        where archive.all[id]?.contains(where: { $0.ever(had: user) }) ?? false {
            try look(at: id)
        }
    }

    /// The damaged part of each of these logs that has one.
    func damaged(among ids: [String]) -> [String: String] {
        guard looks else { return [:] }
        var parts: [String: String] = [:]
        for id in ids { parts[id] = damage(of: id)?.part.rawValue }
        return parts
    }

    // MARK: - An origin that does not check

    /// An answer made of what is left, as if it were the log: shows that the oracle detects that.
    func spoiled(
        _ reply: HistoryAnswer, of conversation: String
    ) throws(RequestError) -> HistoryAnswer {
        guard !looks, let damage = damage(of: conversation) else { return reply }
        switch (damage.part, reply) {
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
            (changes.upTo, changes.more) = (changes.head.rev, false)
            return .changes(changes)
        case (.members, .conversation), (.members, .page), (.members, .changes):
            throw .noConversation
        case (.members, .participants): return .participants(.init(participants: [], total: 0))
        default: return reply
        }
    }

    /// - Parameter order: what the newest is determined by.
    private func left(
        of messages: [EncodedMessage], _ damage: Damage, _ order: (EncodedMessage) -> Int
    ) -> [EncodedMessage] {
        guard damage.harm == .truncated else { return [] }
        let newest = messages.map(order).max()
        return messages.filter { order($0) != newest }
    }
}
