import Cache
import Chat
import Ports
import Rules
import SQLite
import Wire

/// What each write looks at before `Rules` decides it. To a user who does not take part, a
/// conversation does not exist.
extension MessageLog {
    /// A conversation opened for a caller who may see it.
    struct Access {
        var log: LogRow
        /// The user who asks; nil for the server API.
        var user: String?
        var isAdmin: Bool
        /// What is known of it, where it was opened to be sent to.
        var known: KnownFile.Conversation?
    }

    func perform(_ operation: Operation, by caller: Caller) throws -> Outcome {
        switch try operation.write(by: caller) {
        case .send(let id, let messages):
            return try send(messages, in: try openToSend(id, by: caller))
        case .message(let message, let id, let rule):
            return try change(message, by: rule, in: try open(id, by: caller))
        case .record(let id, let rule): return try change(id, by: rule, caller)
        case .create(let id, let fields, let distinct):
            return try create(id, fields, isDistinct: distinct, by: caller)
        case .findDistinct(let fields, let refusal):
            return try findDistinct(fields, by: caller, otherwise: refusal)
        case .deleteConversation(let id):
            return try deleteConversation(try open(id, by: caller))
        case .markRead(let id, let seq):
            return try markRead(try open(id, by: caller), seq)
        }
    }

    func open(_ id: String, by caller: Caller) throws -> Access {
        guard let access = try access(to: id, by: caller) else { throw RequestError.noConversation }
        return access
    }

    /// Nil if there is no such conversation for the caller.
    func access(to id: String, by caller: Caller) throws(CacheError) -> Access? {
        guard let log = try rows.conversations.log(id) else { return nil }
        guard let user = caller.userID else { return Access(log: log, user: nil, isAdmin: true) }
        guard let member = try rows.members.member(log.cid, user), member.isMember else {
            return nil
        }
        return Access(log: log, user: user, isAdmin: member.isAdmin)
    }

    private func deleteConversation(_ access: Access) throws -> Outcome {
        try RecordRule.checkDeletion(by: access.user, isAdmin: access.isAdmin)
        var log = access.log
        known.forget(log.id)
        let users = try rows.members.everybody(log.cid).users
        try writes.fold(&log)
        log.touched = try touch()
        try writes.remove(log)
        leaveToPurge()
        tell(.deleted(conversation: log.id, epoch: log.head.epoch, participants: users))
        return .removed(people: users.count)
    }

    private func markRead(_ access: Access, _ seq: Int) throws -> Outcome {
        guard let user = access.user else { throw RequestError.needsUser }
        let log = access.log
        guard let reader = try rows.reader(log, user) else { throw RequestError.noConversation }
        guard try ReadRule.rises(from: reader.lastReadSeq, to: seq, head: log.head.seq) else {
            return .read(reader)
        }
        // A change of this user's list alone, and not of the log.
        let touched = try touch()
        try writes.members.raise(user, to: seq, touched: touched, in: log)
        tell(.read(conversation: log.id, user: user, seq: seq))
        return .read(try rows.reader(log, user) ?? reader)
    }

    /// Like `open`, for sends: uses what earlier sends to this conversation have read.
    func openToSend(_ id: String, by caller: Caller) throws -> Access {
        guard let conversation = known.conversation(id) else {
            var access = try open(id, by: caller)
            let conversation = known.note(access.log)
            if let user = access.user { conversation.note(member: user.id) }
            access.known = conversation
            return access
        }
        var access = Access(log: conversation.log, isAdmin: true, known: conversation)
        guard case .user(let user) = caller else { return access }
        if !conversation.members.contains(user.id) {
            let member = try rows.members.member(conversation.log.cid, user)
            guard let member, member.isMember else { throw RequestError.noConversation }
            conversation.note(member: user.id)
        }
        (access.user, access.isAdmin) = (user, false)
        return access
    }

    /// Raises the log's rev by one, under this process's mark.
    func advance(_ log: inout LogRow) throws(CacheError) {
        log.head.rev += 1
        if log.head.mark != mark {
            try writes.insertMark(log.cid, from: log.head.rev, mark)
            log.head.mark = mark
        }
    }
}
