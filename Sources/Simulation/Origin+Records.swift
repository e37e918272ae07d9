import Chat
import Engine
import JSON
import Ports
import Rules
import Wire

/// Writes of slot 0, created, changed or deleted; and of read markers, which are not changes.
extension Origin {
    mutating func create(
        _ id: String?, _ fields: ConversationFields, isDistinct: Bool, by caller: Caller
    ) throws(RequestError) -> Outcome {
        ids += 1
        let id = id ?? "c-\(ids)"
        let creation = try Creation(fields, by: caller.userID, within: limits)
        if isDistinct, let log = distinct(fields, caller) {
            return .conversation(archive.view(log, caller.name, atCommit: commit), isNew: false)
        }
        if caller != .server {
            let own = conversations.filter { id in
                log(id).map { creators[$0.epoch] == caller.name } ?? false
            }
            try limits.check(conversationsOfCreator: own.count)
        }
        if let taken = log(id) {
            throw creation.refusalAsTaken(takesPart: taken.has(caller.name))
        }
        let outcome = create(id, creation, by: caller)
        if let log = log(id) {
            creators[log.epoch] = caller.name
            if isDistinct { distinct[Set(log.record().participants)] = log.epoch }
        }
        return outcome
    }

    /// The distinct conversation of the caller and these users.
    func distinct(_ fields: ConversationFields, _ caller: Caller) -> ModelLog? {
        let people = Set(fields.people(with: caller.name))
        return conversations.compactMap { log($0) }.first { log in
            distinct[people] == log.epoch && Set(log.record().participants) == people
        }
    }

    private mutating func create(
        _ id: String, _ creation: Creation, by caller: Caller
    ) -> Outcome {
        epochs += 1
        // What was harmed was the log before.
        damages[id] = nil
        let (said, members) = (creation.said, creation.members.applied(to: [], admins: []))
        let log = ModelLog(
            Record(
                id: id, title: said.title, participants: members.users, admins: members.admins,
                metadata: said.metadata ?? .emptyObject, createdAt: now, updatedAt: now, rev: 1,
                unknown: said.unknown),
            epoch: "e\(epochs)", commit: commit)
        put(log)
        events.append(
            .record(
                log.record(), head: log.head, removed: [], joined: log.record().participants,
                isNew: true, after: log.markBefore))
        return .conversation(archive.view(log, caller.name, atCommit: commit), isNew: true)
    }

    mutating func change(
        _ id: String, by rule: RecordRule, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard var log = log(id), caller == .server || log.has(caller.name) else {
            return create(id, try rule.creation(within: limits), by: caller)
        }
        var record = log.record()
        var view = archive.view(log, caller.name, atCommit: commit)
        view.createdBy = creators[log.epoch]
        let seen = RecordView(
            record.said, people: record.participants.count,
            members: record.participants.map { ModelMember(user: $0) }, admins: record.admins,
            shown: view)
        guard let change = try rule.decide(on: seen, by: caller.userID, within: limits) else {
            return rule.outcome(view, isNew: false)
        }
        let members = change.members
        if let said = change.said { record.said = said }
        (record.participants, record.admins) = members.applied(
            to: record.participants, admins: record.admins)
        record.updatedAt = now
        record = log.write(record, commit: commit)
        let joined = members.joining.map(\.user)
        for user in joined {
            log.markers[user, default: []].append((commit, log.newest(by: user)))
        }
        put(log)
        events.append(
            .record(
                record, head: log.head, removed: members.leaving, joined: joined, isNew: false,
                after: log.markBefore))
        view = archive.view(log, caller.name, atCommit: commit)
        view.createdBy = creators[log.epoch]
        return rule.outcome(view, isNew: !joined.isEmpty)
    }

    mutating func end(_ log: ModelLog, _ caller: Caller) throws(RequestError) -> Outcome {
        let record = log.record()
        try RecordRule.checkDeletion(
            by: caller.userID, isAdmin: record.admins.contains(caller.name))
        var log = log
        log.ended = commit
        put(log)
        events.append(
            .deleted(
                conversation: log.conversation, epoch: log.epoch, participants: record.participants)
        )
        return .removed(people: record.participants.count)
    }

    mutating func mark(
        _ log: ModelLog, _ seq: Int, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let user = caller.userID else { throw .needsUser }
        let place = log.markers[user]?.last?.seq ?? 0
        var log = log
        if try ReadRule.rises(from: place, to: seq, head: log.highest) {
            log.markers[user, default: []].append((commit, seq))
            put(log)
            events.append(.read(conversation: log.conversation, user: user, seq: seq))
        }
        guard let reader = log.reader(user, atCommit: commit) else { throw .noConversation }
        return .read(reader)
    }
}

extension Record {
    fileprivate var said: Description {
        get { Description(.conversation, title: title, metadata: metadata, unknown: unknown) }
        set {
            title = newValue.title
            metadata = newValue.metadata ?? .emptyObject
            unknown = newValue.unknown
        }
    }
}

/// A participant without fields.
private struct ModelMember: MemberView {
    let user: String
    var name: String?
    var metadata: RawJSON?
    var unknown: [JSONMember] = []
}
