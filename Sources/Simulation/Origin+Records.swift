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
        let said = try Description(fields).new(within: limits)
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
            throw taken.has(caller.name) ? .conversationTaken : .conversationOfOthers
        }
        let outcome = try create(id, said, fields, by: caller)
        if let log = log(id) {
            creators[log.epoch] = caller.name
            if isDistinct { distinct[Set(log.record().participants)] = log.epoch }
        }
        return outcome
    }

    /// The distinct conversation of the caller and these users.
    func distinct(_ fields: ConversationFields, _ caller: Caller) -> ModelLog? {
        let people = Set([caller.name] + (fields.participants ?? []))
        return conversations.compactMap { log($0) }.first { log in
            distinct[people] == log.epoch && Set(log.record().participants) == people
        }
    }

    /// By the server API: creates, or changes the given fields.
    mutating func put(
        _ id: String, _ fields: ConversationFields, by caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let log = log(id) else {
            if fields.ifRev != nil { throw .noConversation }
            let said = try Description(put: fields).new(within: limits)
            return try create(id, said, fields, by: caller)
        }
        let outcome = try change(log, ifRev: fields.ifRev, by: caller) { record in
            record.say(fields)
            if let people = fields.participants {
                record.remove(record.participants.filter { !people.contains($0) })
                record.participants += people.filter { !record.participants.contains($0) }
            }
            if let admins = fields.admins { record.admins = admins }
        }
        guard case .conversation(var view, _) = outcome else { return outcome }
        view.createdBy = creators[log.epoch]
        return .conversation(view, isNew: false)
    }

    private mutating func create(
        _ id: String, _ said: Description, _ fields: ConversationFields, by caller: Caller
    ) throws(RequestError) -> Outcome {
        var people = caller == .server ? [] : [caller.name]
        people += (fields.participants ?? []).filter { !people.contains($0) }
        var admins = caller == .server ? [] : [caller.name]
        admins += (fields.admins ?? []).filter { !admins.contains($0) }
        try limits.check(people: (0, people.count), rulers: (0, admins.count))
        epochs += 1
        // What was harmed was the log before.
        damages[id] = nil
        let log = ModelLog(
            Record(
                id: id, title: said.title, participants: people, admins: admins,
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
        _ log: ModelLog, ifRev: Int? = nil, by caller: Caller,
        _ body: (inout Record) -> Void
    ) throws(RequestError) -> Outcome {
        let old = log.record()
        var record = old
        body(&record)
        try limits.check(
            people: (old.participants.count, record.participants.count),
            rulers: (old.admins.count, record.admins.count))
        guard record != old else {
            return .conversation(archive.view(log, caller.name, atCommit: commit), isNew: false)
        }
        try archive.view(log, caller.name, atCommit: commit).check(ifRev: ifRev)
        try limits.check(record.said, insteadOf: old.said)
        var log = log
        record.updatedAt = now
        record = log.write(record, commit: commit)
        for user in record.participants where !old.participants.contains(user) {
            log.markers[user, default: []].append((commit, log.newest(by: user)))
        }
        put(log)
        let removed = old.participants.filter { !record.participants.contains($0) }
        let joined = record.participants.filter { !old.participants.contains($0) }
        events.append(
            .record(
                record, head: log.head, removed: removed, joined: joined, isNew: false,
                after: log.markBefore))
        return .conversation(archive.view(log, caller.name, atCommit: commit), isNew: true)
    }

    mutating func end(_ log: ModelLog, _ caller: Caller) throws(RequestError) -> Outcome {
        let record = log.record()
        guard caller == .server || record.admins.contains(caller.name) else {
            throw RequestError(.notAdmin, "conversation: only its admins may delete it")
        }
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
        guard seq <= log.highest else {
            throw .invalid("seq: \(seq) is out of range (0…\(log.highest))")
        }
        var log = log
        if seq > log.markers[caller.name]?.last?.seq ?? 0 {
            log.markers[caller.name, default: []].append((commit, seq))
            put(log)
            events.append(.read(conversation: log.conversation, user: caller.name, seq: seq))
        }
        guard let reader = log.reader(caller.name, atCommit: commit) else { throw .noConversation }
        return .read(reader)
    }
}

extension Record {
    fileprivate var said: Description {
        Description(.conversation, title: title, metadata: metadata, unknown: unknown)
    }

    /// Changes the given fields among title, metadata and unknown fields.
    mutating func say(_ fields: ConversationFields) {
        let changed = said.changed(
            title: fields.title, metadata: fields.metadata, unknown: fields.unknownFields)
        guard let said = changed else { return }
        title = said.title
        metadata = said.metadata ?? .emptyObject
        unknown = said.unknown
    }
}
