import Chat
import Engine
import JSON
import Ports
import Rules
import Wire

/// Writes of messages: sent once, edited by their author, deleted to a tombstone.
extension Origin {
    mutating func send(
        _ messages: [NewMessage], to log: ModelLog, _ caller: Caller = .server
    ) throws(RequestError) -> Outcome {
        var log = log
        var sent: [EncodedMessage] = []
        var isNew = false
        for message in messages {
            let content = message.content
            if let id = content.id, let known = log.first(id: id) {
                try message.checkRepeat(
                    of: known.author, isSame: known.content.canonical() == content.canonical())
                sent.append(log.message(known.seq))
                continue
            }
            ids += 1
            var kept = try message.addressed(log.mentionView(caller))
            if let reply = kept.replyTo?.id {
                kept.replyTo?.seq = log.first(id: reply)?.seq
            }
            let encoded = log.insert(
                kept, sent: content, id: content.id ?? "m\(ids)", author: message.author, at: now,
                commit: commit)
            if retained > 0 { log.raiseFloor(to: log.highest - retained + 1) }
            log.markers[message.author, default: []].append((commit, encoded.seq))
            events.append(
                .message(
                    conversation: log.conversation, .inserted, encoded, head: log.head,
                    after: log.markBefore))
            sent.append(encoded)
            isNew = true
        }
        put(log)
        return .messages(sent, at: log.written, isNew: isNew)
    }

    mutating func change(
        _ id: String, by rule: MessageRule, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        let old = log.first(id: id).map { log.message($0.seq) }
        let deed: Reacting? = if case .react(let deed) = rule { deed } else { nil }
        let view = old.map { old in
            MessageView(
                old, isAdmin: log.record().admins.contains(caller.name),
                reactions: deed.map { log.view(of: $0, to: old) },
                mentions: log.mentionView(caller)
            ) { old.said }
        }
        let decided = try rule.decide(on: view, by: caller.userID, within: limits)
        guard let old else { throw .noMessage }
        guard let decided else {
            return deed.map { reacted(old, $0, in: log, caller) }
                ?? .messages([old], at: log.written, isNew: false)
        }
        switch decided {
        case .reacted(let reacted):
            var log = log
            let message = log.react(
                old.seq, reacted.reacting, reacted.shown, at: now, commit: commit)
            put(log)
            events.append(
                .message(
                    conversation: log.conversation, .updated, message, head: log.head,
                    after: log.markBefore))
            return self.reacted(message, reacted.reacting, in: log, caller)
        case .edited(let content): return write(old.seq, .updated, content, in: log)
        case .deleted: return write(old.seq, .deleted, MessageContent(), in: log)
        }
    }

    private func reacted(
        _ message: EncodedMessage, _ deed: Reacting, in log: ModelLog, _ caller: Caller
    ) -> Outcome {
        let user = caller.userID ?? deed.user
        let own = log.reactions(to: message.seq).filter { $0.user == user }.map(\.key)
        return .reacted(message, own: own, at: log.written)
    }

    private mutating func write(
        _ seq: Int, _ type: DeltaType, _ content: MessageContent, in log: ModelLog
    ) -> Outcome {
        var log = log
        let message = log.change(seq, to: content, delete: type == .deleted, commit: commit)
        put(log)
        events.append(
            .message(
                conversation: log.conversation, type, message, head: log.head,
                after: log.markBefore))
        return .messages([message], at: log.written, isNew: true)
    }
}

extension ModelLog {
    /// What the rule of mentions looks at.
    fileprivate func mentionView(_ caller: Caller) -> MentionView {
        let record = record()
        return MentionView(
            isAdmin: caller.userID.map { record.admins.contains($0) } ?? true,
            hasAdmins: !record.admins.isEmpty, present: Set(record.participants.map(\.id)))
    }

    fileprivate var written: Written { Written(conversation, head) }
}
