import Cache
import Chat
import Crypto
import JSON
import Ports
import Rules
import SQLite
import Wire

/// Sends, edits and deletes messages. The id that a sender gives is an idempotency key: repeats
/// store nothing. A deleted message becomes a tombstone.
extension MessageLog {
    /// The outcome for one message of a call.
    private enum Disposition {
        /// Sent before; its present value.
        case known(EncodedMessage)
        /// A repeat of the message at this index of the same call.
        case repeated(Int)
        /// New.
        case new(id: String, hash: [UInt8])
    }

    func send(_ messages: [NewMessage], in access: Access) throws -> Outcome {
        if let refusal = messages.refusal(ofSendingBy: access.user) { throw refusal }
        // All or none: everything is decided before the first row is written.
        let at = max(now, access.log.activity)
        let fates = try fates(of: messages, in: access, at: at)
        var kept: [Int: MessageContent] = [:]
        for (index, fate) in fates.enumerated() {
            let message = messages[index]
            guard case .new = fate, !message.content.mentioned.isEmpty else { continue }
            let (users, isToAll) = (message.content.mentions, message.content.mentionAll)
            kept[index] = try message.addressed(
                try mentionView(of: users, all: isToAll, access))
        }
        var log = access.log
        let new = fates.count { if case .new = $0 { true } else { false } }
        if new > 0 {
            log.touched = try touch(messages: new)
            log.activity = at
        }
        var sent: [EncodedMessage] = []
        sent.reserveCapacity(messages.count)
        for (index, fate) in fates.enumerated() {
            switch fate {
            case .known(let known): sent.append(known)
            case .repeated(let earlier): sent.append(sent[earlier])
            case .new(let id, let hash):
                let message = messages[index]
                var content = kept[index] ?? message.content
                if let reply = content.replyTo?.id {
                    content.replyTo?.seq =
                        try sent.last { $0.seq > access.log.head.seq && $0.id.isSameID(reply) }?.seq
                        ?? rows.messages.place(log.cid, id: reply)
                }
                sent.append(
                    try append(content, by: message.author, id, hash, to: &log, at: at))
            }
        }
        if new > 0 {
            try writes.noteTail(of: &log, above: access.log.head.seq)
            // What follows from a tail is under the mark that is written.
            let isUnderAnotherMark = log.head.mark != access.log.head.mark
            if isUnderAnotherMark || log.tailLength >= tailLimit { try writes.fold(&log) }
            note(log, after: sent, in: access)
        }
        return .messages(sent, at: Written(log.id, log.head), isNew: new > 0)
    }

    private func append(
        _ content: MessageContent, by author: String, _ id: String, _ hash: [UInt8],
        to log: inout LogRow, at: Timestamp
    ) throws(CacheError) -> EncodedMessage {
        try advance(&log)
        log.head.seq += 1
        log.show(log.head.seq)
        let encoded = EncodedMessage.encode(
            id: id, conversation: log.id, seq: log.head.seq, rev: log.head.rev,
            author: author, body: content.body, attachment: content.attachment,
            metadata: content.metadata, createdAt: at, editedAt: nil, deleted: false,
            replyTo: content.replyTo, mentions: content.mentions, mentionAll: content.mentionAll,
            unknown: content.unknown)
        try writes.insert(encoded, hash: hash, mentioning: content.mentioned, into: log)
        tell(.message(conversation: log.id, .inserted, encoded, head: log.head))
        return encoded
    }

    private func fates(
        of messages: [NewMessage], in access: Access, at: Timestamp
    ) throws -> [Disposition] {
        var fates: [Disposition] = []
        fates.reserveCapacity(messages.count)
        var earlier: [ID: (index: Int, hash: [UInt8])] = [:]
        for (index, message) in messages.enumerated() {
            // Half of SHA-256: nobody finds two contents with the same one.
            let hash = hasher.hash(message.content.canonical(), first: 16)
            guard let id = message.content.id else {
                fates.append(.new(id: try unusedID(in: access, at: at), hash: hash))
                continue
            }
            if let known = try sent(id, in: access) {
                try message.checkRepeat(of: known.message.author, isSame: known.hash == hash)
                fates.append(.known(known.message))
            } else if let before = earlier[id.id] {
                try message.checkRepeat(
                    of: messages[before.index].author, isSame: before.hash == hash)
                fates.append(.repeated(before.index))
            } else {
                if messages.count > 1 { earlier[id.id] = (index, hash) }
                fates.append(.new(id: id, hash: hash))
            }
        }
        return fates
    }

    /// Ids are random enough, but a client may have taken one on purpose.
    private func unusedID(in access: Access, at: Timestamp) throws(CacheError) -> String {
        while true {
            let id = identifiers.next(at: at)
            if try !mayHave(id, in: access) { return id }
        }
    }

    /// The message with an id, and the hash of what was sent under it.
    private func sent(
        _ id: String, in access: Access
    ) throws(CacheError) -> (message: EncodedMessage, hash: [UInt8])? {
        // Nearly all are new.
        try mayHave(id, in: access) ? try rows.messages.sent(access.log.cid, id: id) : nil
    }

    /// Whether the log may have a message with this id; one that it has, it may have. What is known
    /// of the tail and of the file makes it one step in one tree.
    private func mayHave(_ id: String, in access: Access) throws(CacheError) -> Bool {
        let cid = access.log.cid
        guard let conversation = access.known else {
            return try rows.messages.place(cid, id: id) != nil
        }
        if try tail(of: conversation).mayHave(id) { return true }
        if try rows.messages.taken.isFolded(cid, id) { return true }
        return try hasOldMessages() ? try rows.messages.taken.isOld(cid, id) : false
    }

    private func hasOldMessages() throws(CacheError) -> Bool {
        if let has = known.hasOldMessages { return has }
        let has = try rows.messages.taken.isAnyOld()
        known.hasOldMessages = has
        return has
    }

    private func tail(of conversation: KnownFile.Conversation) throws(CacheError) -> IDMarks {
        if let tail = conversation.tail { return tail }
        var marks = IDMarks()
        let log = conversation.log
        for id in try rows.messages.ids(log.cid, above: log.tail ?? log.head.seq) {
            marks.insert(id)
        }
        conversation.tail = marks
        return marks
    }

    /// Notes how the log is written now.
    private func note(_ log: LogRow, after sent: [EncodedMessage], in access: Access) {
        guard let conversation = access.known else { return known.forget(log.id) }
        conversation.log = log
        if log.tail == nil {
            conversation.tail = IDMarks()
        } else {
            for message in sent where message.seq > access.log.head.seq {
                conversation.tail?.insert(message.id)
            }
        }
    }

    func change(_ id: String, by rule: MessageRule, in access: Access) throws -> Outcome {
        let stored = try rows.messages.message(access.log.cid, id: id)
        let view = try stored.map { stored in
            MessageView(
                stored, isAdmin: access.isAdmin, reactions: try reactions(to: stored, rule, access),
                mentions: try mentionView(rule, access)
            ) { () throws(RequestError) in
                do { return try stored.content() } catch { throw .unreadable }
            }
        }
        let decided = try rule.decide(on: view, by: access.user, within: limits)
        var log = access.log
        guard var message = stored else { throw RequestError.noMessage }
        if let decided {
            let value = try message.value().changed(by: decided, at: now)
            message = try replace(
                message, in: &log, by: value, contentRev: decided.contentRev(of: message))
        }
        let written = Written(log.id, log.head)
        guard case .react(let reacting) = rule else {
            return .messages([message], at: written, isNew: false)
        }
        if decided != nil {
            try writes.react(
                message, of: reacting.user, key: reacting.key, isOn: reacting.isOn, at: now, in: log
            )
        }
        let user = access.user ?? reacting.user
        let own = try rows.reactions.keys(log.cid, at: message.seq, of: user)
        return .reacted(message, own: own, at: written)
    }

    /// What the rule of an edit that says whom it mentions looks at; nil for another rule.
    private func mentionView(_ rule: MessageRule, _ access: Access) throws -> MentionView? {
        guard case .edit(let edit) = rule, edit.isAddressed else { return nil }
        return try mentionView(of: edit.mentions ?? [], all: edit.mentionAll == true, access)
    }

    /// - Parameter isToAll: whether the rule may ask who may mention everybody.
    private func mentionView(
        of users: [String], all isToAll: Bool, _ access: Access
    ) throws -> MentionView {
        let cid = access.log.cid
        var present: Set<ID> = []
        for user in users {
            if try rows.members.member(cid, user)?.isMember == true { present.insert(user.id) }
        }
        let admins = isToAll ? try rows.members.admins(cid) : []
        return MentionView(
            isAdmin: access.user.map { user in admins.contains { $0.isSameID(user) } } ?? true,
            hasAdmins: !admins.isEmpty, present: present)
    }

    /// What the rule of a reaction looks at; nil for another rule.
    private func reactions(
        to message: EncodedMessage, _ rule: MessageRule, _ access: Access
    ) throws -> ReactionView? {
        guard case .react(let reacting) = rule else { return nil }
        let (cid, user) = (access.log.cid, reacting.user)
        return ReactionView(
            shown: try message.reactions(),
            keys: try rows.reactions.keys(cid, at: message.seq, of: user),
            next: try rows.reactions.user(
                cid, at: message.seq, key: reacting.key, behind: Reaction.namedUsers),
            takesPart: try rows.members.member(cid, user)?.isMember ?? false)
    }

    /// Writes a message's new value as one change of the log.
    /// - Parameter contentRev: of the value; nil: its own rev, if anybody ever reacted.
    private func replace(
        _ stored: EncodedMessage, in log: inout LogRow, by value: Message, contentRev: Int?
    ) throws -> EncodedMessage {
        known.forget(log.id)
        try writes.fold(&log)
        log.touched = try touch()
        try advance(&log)
        let rev = log.head.rev
        let message = EncodedMessage.encode(
            id: stored.id, conversation: log.id, seq: stored.seq, rev: rev, author: stored.author,
            body: value.body, attachment: value.attachment, metadata: value.metadata,
            createdAt: stored.createdAt, editedAt: value.editedAt, deleted: value.isDeleted,
            replyTo: value.replyTo, mentions: value.mentions, mentionAll: value.mentionAll,
            reactions: value.reactions,
            contentRev: contentRev ?? stored.contentRev.map { _ in rev },
            unknown: value.unknown)
        try writes.update(message, from: stored.rev, in: log)
        let mentioned = Mentioned(users: value.mentions, all: value.mentionAll)
        if contentRev == nil, try mentioned != stored.mentioned() {
            try writes.mention(mentioned, by: message, in: log)
        }
        if message.isDeleted {
            if stored.contentRev != nil {
                try writes.dropReactions(to: message, in: log)
                leaveToPurge()
            }
            if log.lastSeq == message.seq { try rows.messages.hideLast(of: &log) }
        }
        try writes.update(log)
        let type = message.isDeleted ? DeltaType.deleted : .updated
        tell(.message(conversation: log.id, type, message, head: log.head))
        return message
    }
}
