import Cache
import Chat
import Ports
import SQLite
import Wire

/// Permissions, by `protocol.md` 3. To a user who does not take part, a conversation does not
/// exist; the server API may do everything.
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
        if let changed = operation.changedOtherwise { known.forget(changed) }
        switch operation {
        case .send(let id, let messages):
            return try send(messages, in: try openToSend(id, by: caller))
        case .edit(let id, let message, let edit):
            return try self.edit(message, edit, in: try open(id, by: caller))
        case .delete(let id, let message, let ifRev):
            return try delete(message, ifRev: ifRev, in: try open(id, by: caller))
        case .create(let id, let fields, let distinct):
            return try create(id, fields, isDistinct: distinct, by: caller)
        case .findDistinct(let fields, let refusal):
            return try findDistinct(fields, by: caller, otherwise: refusal)
        case .put(let id, let fields):
            return try put(id, fields, by: caller)
        case .update(let id, _), .addParticipants(let id, _), .removeParticipants(let id, _),
            .addAdmins(let id, _), .removeAdmins(let id, _):
            let access = try open(id, by: caller)
            guard let asked = RecordChange(operation) else { return .done }
            if operation.needsAdmin(by: access.user) { try requireAdmin(access) }
            return try change(access, asked)
        case .deleteConversation(let id):
            return try deleteConversation(try open(id, by: caller))
        case .leave(let id):
            let access = try open(id, by: caller)
            guard let user = access.user else { throw RequestError.needsUser }
            _ = try change(access, RecordChange(leave: [user]))
            return .done
        case .markRead(let id, let seq):
            return try markRead(try open(id, by: caller), seq)
        }
    }

    func open(_ id: String, by caller: Caller) throws -> Access {
        guard let log = try rows.conversations.log(id) else { throw RequestError.noConversation }
        switch caller {
        case .server:
            return Access(log: log, user: nil, isAdmin: true)
        case .user(let user):
            let member = try rows.members.member(log.cid, user)
            guard let member, member.isMember else { throw RequestError.noConversation }
            return Access(log: log, user: user, isAdmin: member.isAdmin)
        }
    }

    /// Admins change the record; if there are none, every participant may.
    private func requireAdmin(_ access: Access) throws {
        if access.isAdmin { return }
        guard try !rows.members.hasAdmin(access.log.cid) else { throw RequestError.adminsOnly }
    }

    private func deleteConversation(_ access: Access) throws -> Outcome {
        guard access.isAdmin else { throw RequestError.adminsDelete }
        var log = access.log
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
        guard (0...log.head.seq).contains(seq) else {
            throw RequestError.invalid("seq: \(seq) is out of range (0…\(log.head.seq))")
        }
        guard let reader = try rows.reader(log, user) else { throw RequestError.noConversation }
        guard seq > reader.lastReadSeq else { return .read(reader) }
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

extension Operation {
    /// The conversation whose row or members it may change, or which it may make; nil if it sends,
    /// or moves a read marker.
    fileprivate var changedOtherwise: String? {
        switch self {
        case .send, .markRead, .findDistinct, .create(nil, _, _): nil
        case .edit(let id, _, _), .delete(let id, _, _), .create(let id?, _, _), .put(let id, _),
            .update(let id, _), .addParticipants(let id, _), .removeParticipants(let id, _),
            .addAdmins(let id, _), .removeAdmins(let id, _), .deleteConversation(let id),
            .leave(let id):
            id
        }
    }
}
