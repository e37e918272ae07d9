import Cache
import Chat
import Crypto
import JSON
import Ports
import Rules
import SQLite
import Wire

/// Slot 0: title, metadata, participants and admins. All that one call changes of it is one change
/// of the log.
extension MessageLog {
    // MARK: creating

    func create(
        _ id: String?, _ fields: ConversationFields, isDistinct: Bool, by caller: Caller
    ) throws -> Outcome {
        let user = caller.userID
        let creation = try Creation(fields, by: user, within: limits)
        let people = isDistinct ? creation.users.distinctKey : nil
        if let people, let log = try distinct(people, creation.users) {
            return .conversation(try rows.view(log, for: user), isNew: false)
        }
        if let user {
            try limits.check(conversationsOfCreator: try rows.conversations.created(by: user))
        }
        if let id, let taken = try rows.conversations.log(id) {
            let member = try user.flatMap { try rows.members.member(taken.cid, $0) }
            throw creation.refusalAsTaken(takesPart: member?.isMember == true)
        }
        return try insert(id ?? identifiers.next(at: now), creation, people: people)
    }

    func findDistinct(
        _ fields: ConversationFields, by caller: Caller, otherwise refusal: RequestError
    ) throws -> Outcome {
        guard let user = caller.userID else { throw refusal }
        let users = fields.people(with: user)
        guard let log = try distinct(users.distinctKey, users) else { throw refusal }
        return .conversation(try rows.view(log, for: user), isNew: false)
    }

    private func insert(
        _ id: String, _ creation: Creation, people: [UInt8]?
    ) throws(CacheError) -> Outcome {
        let at = now
        known.forget(id)
        let touched = try touch()
        let head = Head(epoch: Random.hex(8), seq: 0, rev: 1, mark: mark)
        let (said, members) = (creation.said, creation.members)
        var log = LogRow(
            cid: 0, id: id, head: head, recordRev: 1, lastSeq: 0, activity: at, touched: touched,
            members: members.people)
        let record = RecordRow(
            title: said.title, metadata: said.metadata ?? .emptyObject, unknown: said.unknown,
            createdAt: at, updatedAt: at, createdBy: creation.creator)
        log.cid = try writes.insert(log, record, people: people)
        try writes.insertMark(log.cid, from: 1, mark)
        try writes.members.joinAll(
            creation.users, admins: Set(members.promoting.map(\.id)), log, at: at)
        let view = try rows.view(log, for: creation.creator)
        tell(
            .record(
                view.record, head: head, removed: [], joined: view.record.told(members.joining),
                isNew: true))
        return .conversation(view, isNew: true)
    }

    // MARK: distinct ones

    /// The conversation that was created as distinct for these users last, if it still has exactly
    /// them. Earlier ones may be any number.
    private func distinct(_ people: [UInt8], _ users: [String]) throws(CacheError) -> LogRow? {
        guard let cid = try rows.conversations.newest(people: people),
            let log = try rows.conversations.log(number: cid),
            try rows.members.total(log) == users.count
        else { return nil }
        let present = try rows.members.everybody(cid).users
        return Set(present.map(\.id)) == Set(users.map(\.id)) ? log : nil
    }

    // MARK: changing

    /// What a rule is asked on, from the rows of the named users: its cost does not depend on how
    /// many others take part.
    private func seen(
        _ access: Access, _ record: RecordRow, for rule: RecordRule
    ) throws(CacheError) -> RecordView<MemberRow> {
        let log = access.log
        var members: [MemberRow] = []
        let asked = rule.named(by: access.user)?.unique
        let named = if let asked { asked } else { try rows.members.everybody(log.cid).users }
        for user in named {
            guard let row = try rows.members.member(log.cid, user), row.isMember else { continue }
            members.append(row)
        }
        return RecordView(
            record.said, people: try rows.members.total(log), members: members,
            admins: try rows.members.admins(log.cid),
            shown: rule.ifRev == nil ? nil : try rows.view(log, for: access.user))
    }

    func change(_ id: String, by rule: RecordRule, _ caller: Caller) throws -> Outcome {
        guard let access = try access(to: id, by: caller),
            var record = try rows.conversations.record(access.log.cid)
        else { return try insert(id, try rule.creation(within: limits), people: nil) }
        var log = access.log
        let seen = try seen(access, record, for: rule)
        let change = try rule.decide(on: seen, by: access.user, within: limits)
        if let change { try write(change, of: &record, to: &log) }
        var view = try rows.view(log, for: access.user)
        view.createdBy = record.createdBy
        guard let members = change?.members else { return rule.outcome(view, isNew: false) }
        tell(
            .record(
                view.record, head: log.head, removed: members.leaving,
                joined: view.record.told(members.joining), isNew: false))
        return rule.outcome(view, isNew: !members.joining.isEmpty)
    }

    private func write(
        _ change: RecordChange<MemberRow>, of record: inout RecordRow, to log: inout LogRow
    ) throws(CacheError) {
        let at = max(now, record.updatedAt)
        let members = change.members
        known.forget(log.id)
        try writes.fold(&log)
        log.touched = try touch()
        try advance(&log)
        log.recordRev = log.head.rev
        log.activity = max(at, log.activity)
        log.members = members.people
        if let said = change.said { record.said = said }
        record.updatedAt = at
        try writes.update(record, of: log)
        for user in members.leaving { try writes.members.leave(user, log) }
        for var row in change.described {
            row.updatedAt = at
            try writes.members.update(row, log)
        }
        for participant in members.joining { try join(participant, log, at) }
        for (isAdmin, users) in [(true, members.promoting), (false, members.demoting)] {
            for user in users {
                guard var row = try rows.members.member(log.cid, user) else { continue }
                row.isAdmin = isAdmin
                row.updatedAt = at
                try writes.members.update(row, log)
            }
        }
        try writes.update(log)
    }

    private func join(
        _ participant: NewParticipant, _ log: LogRow, _ at: Timestamp
    ) throws(CacheError) {
        try writes.members.join(
            MemberRow(
                user: participant.user, isAdmin: false, name: participant.name,
                metadata: participant.metadata, unknown: participant.unknown, createdAt: at,
                updatedAt: at, joinedSeq: log.head.seq),
            log)
    }
}

extension Record {
    /// The users who joined, if the record does not name all members.
    fileprivate func told(_ joining: [NewParticipant]) -> [String] {
        namesEverybody ? [] : joining.map(\.user)
    }
}

extension RecordRow {
    fileprivate var said: Description {
        get { Description(.conversation, title: title, metadata: metadata, unknown: unknown) }
        set {
            title = newValue.title
            metadata = newValue.metadata ?? .emptyObject
            unknown = newValue.unknown
        }
    }
}

extension MemberRow: MemberView {}
