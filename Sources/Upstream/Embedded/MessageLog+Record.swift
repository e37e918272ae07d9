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
        let user = if case .user(let user) = caller { user } else { String?.none }
        let fields = fields.created(by: user)
        let said = try Description(fields).new(within: limits)
        let change = try MembershipChange(of: fields, within: limits)
        let people = isDistinct ? change.joining.map(\.user).distinctKey : nil
        if let people, let log = try distinct(people, change.joining.map(\.user)) {
            return .conversation(try rows.view(log, for: user), isNew: false)
        }
        if let user {
            try limits.check(conversationsOfCreator: try rows.conversations.created(by: user))
        }
        if let id, let taken = try rows.conversations.log(id) {
            let member = try user.flatMap { try rows.members.member(taken.cid, $0) }
            throw user == nil || member?.isMember == true
                ? RequestError.conversationTaken : .conversationOfOthers
        }
        return try insert(
            id ?? identifiers.next(at: now), said, change, people: people, for: user)
    }

    func findDistinct(
        _ fields: ConversationFields, by caller: Caller, otherwise refusal: RequestError
    ) throws -> Outcome {
        guard case .user(let user) = caller else { throw refusal }
        let users = ([user] + (fields.participants ?? [])).unique
        guard let log = try distinct(users.distinctKey, users) else { throw refusal }
        return .conversation(try rows.view(log, for: user), isNew: false)
    }

    func put(_ id: String, _ fields: ConversationFields, by caller: Caller) throws -> Outcome {
        guard case .server = caller else { throw RequestError.serverPuts }
        guard let log = try rows.conversations.log(id) else {
            // A missing conversation has no rev to compare.
            if fields.ifRev != nil { throw RequestError.noConversation }
            let said = try Description(put: fields).new(within: limits)
            let members = try MembershipChange(of: fields, within: limits)
            return try insert(id, said, members, people: nil, for: nil)
        }
        let change = try RecordChange(
            put: fields, users: try rows.members.everybody(log.cid).users,
            admins: try rows.members.admins(log.cid))
        let outcome = try self.change(Access(log: log, user: nil, isAdmin: true), change)
        // `isNew` says whether the call made the conversation, not whether somebody joined it.
        guard case .conversation(var view, _) = outcome else { return outcome }
        view.createdBy = try rows.conversations.record(log.cid)?.createdBy
        return .conversation(view, isNew: false)
    }

    private func insert(
        _ id: String, _ said: Description, _ members: MembershipChange,
        people: [UInt8]?, for user: String?
    ) throws(CacheError) -> Outcome {
        let at = now
        let touched = try touch()
        let head = Head(epoch: Random.hex(8), seq: 0, rev: 1, mark: mark)
        var log = LogRow(
            cid: 0, id: id, head: head, recordRev: 1, lastSeq: 0, activity: at, touched: touched,
            members: members.people)
        let record = RecordRow(
            title: said.title, metadata: said.metadata ?? .emptyObject, unknown: said.unknown,
            createdAt: at, updatedAt: at, createdBy: user)
        log.cid = try writes.insert(log, record, people: people)
        try writes.insertMark(log.cid, from: 1, mark)
        try writes.members.joinAll(
            members.joining.map(\.user), admins: Set(members.promoting.map(\.id)), log, at: at)
        let view = try rows.view(log, for: user)
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

    /// The effective membership change, from the rows of the named users only: its cost does not
    /// depend on how many others take part.
    private func membership(_ change: RecordChange, _ log: LogRow) throws -> MembershipChange {
        var named: [MemberRow] = []
        for user in change.named.unique {
            guard let row = try rows.members.member(log.cid, user), row.isMember else { continue }
            named.append(row)
        }
        var members = MembershipChange(
            change,
            standing: (try rows.members.total(log), try rows.members.admins(log.cid).count),
            present: Set(named.map(\.user.id)),
            ruling: Set(named.filter(\.isAdmin).map(\.user.id)))
        guard members.strangers.isEmpty else { throw RequestError.strangersCannotRule }
        try members.hold(to: limits)
        return members
    }

    /// Writes what differs from the record as it is. `isNew` in the outcome says whether somebody
    /// joined.
    func change(_ access: Access, _ change: RecordChange) throws -> Outcome {
        var log = access.log
        let members = try membership(change, log)
        guard let old = try rows.conversations.record(log.cid) else {
            throw RequestError.noConversation
        }
        var record = old
        let said = old.said.changed(
            title: change.title, metadata: change.metadata, unknown: change.unknown)
        let at = max(now, old.updatedAt)
        let described = try described(members, log, at)
        guard !members.isEmpty || !described.isEmpty || said != nil else {
            return .conversation(try rows.view(log, for: access.user), isNew: false)
        }
        if change.ifRev != nil {
            try rows.view(log, for: access.user).check(ifRev: change.ifRev)
        }
        if let said {
            try limits.check(said, insteadOf: old.said)
            record.said = said
        }
        try writes.fold(&log)
        log.touched = try touch()
        try advance(&log)
        log.recordRev = log.head.rev
        log.activity = max(at, log.activity)
        log.members = members.people
        record.updatedAt = at
        try writes.update(record, of: log)
        try write(members, described, log, at)
        try writes.update(log)
        let view = try rows.view(log, for: access.user)
        tell(
            .record(
                view.record, head: log.head, removed: members.leaving,
                joined: view.record.told(members.joining), isNew: false))
        return .conversation(view, isNew: !members.joining.isEmpty)
    }

    /// The members whose fields would change.
    private func described(
        _ members: MembershipChange, _ log: LogRow, _ at: Timestamp
    ) throws -> [MemberRow] {
        var changed: [MemberRow] = []
        for participant in members.described where participant.hasFields {
            guard var row = try rows.members.member(log.cid, participant.user),
                let said = try row.said.changed(by: participant, within: limits)
            else { continue }
            row.said = said
            row.updatedAt = at
            changed.append(row)
        }
        return changed
    }

    private func write(
        _ members: MembershipChange, _ described: [MemberRow], _ log: LogRow, _ at: Timestamp
    ) throws(CacheError) {
        for user in members.leaving { try writes.members.leave(user, log) }
        for row in described { try writes.members.update(row, log) }
        for participant in members.joining { try join(participant, log, at) }
        for (isAdmin, users) in [(true, members.promoting), (false, members.demoting)] {
            for user in users {
                guard var row = try rows.members.member(log.cid, user) else { continue }
                row.isAdmin = isAdmin
                row.updatedAt = at
                try writes.members.update(row, log)
            }
        }
    }

    private func join(
        _ participant: NewParticipant, _ log: LogRow, _ at: Timestamp
    ) throws(CacheError) {
        try writes.members.join(
            MemberRow(
                user: participant.user, isAdmin: false, name: participant.name,
                metadata: participant.metadata, unknown: participant.unknown, createdAt: at,
                updatedAt: at),
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

extension MemberRow {
    fileprivate var said: Description {
        get { Description(.participant, title: name, metadata: metadata, unknown: unknown) }
        set {
            name = newValue.title
            metadata = newValue.metadata
            unknown = newValue.unknown
        }
    }
}

extension NewParticipant {
    fileprivate var hasFields: Bool { name != nil || metadata != nil || !unknown.isEmpty }
}
