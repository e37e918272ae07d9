import Chat
import Engine
import JSON
import Wire

/// The scripted backend: it decides over writes by the rules of `protocol.md` 3, keeps every log
/// that ever was, and numbers its commits, so that a store can answer as of any of them. It is the
/// truth that the oracle goes by. Owned by the world; no limits.
package struct Origin {
    /// What became of one write.
    package struct Performed {
        package var result: Result<Outcome, RequestError>
        /// What the feed tells of it, in order.
        package var events: [FeedEvent] = []
    }

    /// The number of the newest commit.
    package private(set) var commit = 0
    /// All logs that had the id, oldest first.
    private(set) var logs: [String: [ModelLog]] = [:]
    private var epochs = 0
    private var ids = 0
    /// What the commit under way has to tell.
    private var events: [FeedEvent] = []
    var now = Timestamp(milliseconds: 0)

    package init() {}

    // MARK: - Reading

    /// The log of this id that the epoch names.
    package func log(_ conversation: String, epoch: String) -> ModelLog? {
        logs[conversation]?.last { $0.epoch == epoch }
    }

    /// The log that was there right after the commit.
    package func log(_ conversation: String, atCommit commit: Int? = nil) -> ModelLog? {
        logs[conversation]?.last { $0.isThere(atCommit: commit ?? self.commit) }
    }

    package var conversations: [String] { logs.keys.sorted() }

    // MARK: - Writing

    /// Does a write, or refuses it; what it changes is one commit.
    package mutating func perform(_ operation: Operation, by caller: Caller) -> Performed {
        events = []
        commit += 1
        do throws(RequestError) {
            return Performed(
                result: .success(try outcome(of: operation, by: caller)), events: events)
        } catch {
            return Performed(result: .failure(error))
        }
    }

    private mutating func outcome(
        of operation: Operation, by caller: Caller
    ) throws(RequestError) -> Outcome {
        switch operation {
        case .send(let id, let messages):
            return try send(messages, to: open(id, caller))
        case .edit(let id, let message, let edit):
            return try self.edit(message, edit, in: open(id, caller), caller)
        case .delete(let id, let message):
            return try delete(message, in: open(id, caller), caller)
        case .create(let id, let fields, _):
            return try create(id, fields, by: caller)
        case .put(let id, let fields):
            return try create(id, fields, by: caller)
        case .update(let id, let fields):
            return try change(ruled(id, caller), by: caller) { record in
                if let title = fields.title { record.title = title }
            }
        case .addParticipants(let id, let users):
            return try change(ruled(id, caller), by: caller) { record in
                record.participants += users.map(\.user)
                    .filter { !record.participants.contains($0) }
            }
        case .removeParticipants(let id, let users):
            return try change(ruled(id, caller), by: caller) { $0.remove(users) }
        case .addAdmins(let id, let users):
            return try change(ruled(id, caller), by: caller) { record in
                record.admins += users.filter {
                    record.participants.contains($0) && !record.admins.contains($0)
                }
            }
        case .removeAdmins(let id, let users):
            return try change(ruled(id, caller), by: caller) { record in
                record.admins.removeAll(where: users.contains)
            }
        case .leave(let id):
            let log = try open(id, caller)
            _ = try change(log, by: caller) { $0.remove([caller.name]) }
            return .done
        case .deleteConversation(let id):
            return try end(open(id, caller), caller)
        case .markRead(let id, let seq):
            return try mark(open(id, caller), seq, caller)
        }
    }

    /// The log, if the caller takes part in it.
    private func open(_ id: String, _ caller: Caller) throws(RequestError) -> ModelLog {
        guard let log = log(id), caller == .server || log.has(caller.name) else {
            throw .noConversation
        }
        return log
    }

    /// The log, if the caller may change its record.
    private func ruled(_ id: String, _ caller: Caller) throws(RequestError) -> ModelLog {
        let log = try open(id, caller)
        let admins = log.record().admins
        guard caller == .server || admins.isEmpty || admins.contains(caller.name) else {
            throw RequestError(.forbidden, "conversation: only its admins may do this")
        }
        return log
    }

    private mutating func put(_ log: ModelLog) {
        var all = logs[log.conversation] ?? []
        if let at = all.lastIndex(where: { $0.epoch == log.epoch }) {
            all[at] = log
        } else {
            all.append(log)
        }
        logs[log.conversation] = all
    }

    // MARK: - Messages

    private mutating func send(
        _ messages: [NewMessage], to log: ModelLog
    ) throws(RequestError) -> Outcome {
        var log = log
        var sent: [EncodedMessage] = []
        var isNew = false
        for message in messages {
            let body = message.content.body ?? ""
            if let id = message.content.id, let known = log.first(id: id) {
                guard known.author == message.author, known.body == body else {
                    throw RequestError(.conflict, "id: taken by another message")
                }
                sent.append(log.message(known.seq))
                continue
            }
            ids += 1
            let encoded = log.insert(
                id: message.content.id ?? "m\(ids)", author: message.author, body: body, at: now,
                commit: commit)
            log.markers[message.author, default: []].append((commit, encoded.seq))
            events.append(
                .message(conversation: log.conversation, .inserted, encoded, head: log.head))
            sent.append(encoded)
            isNew = true
        }
        put(log)
        return .messages(sent, isNew: isNew)
    }

    private mutating func edit(
        _ id: String, _ edit: MessageEdit, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let seq = log.first(id: id)?.seq else { throw .noMessage }
        let old = log.message(seq)
        guard old.author == caller.name else {
            throw RequestError(.forbidden, "id: only its author may edit a message")
        }
        guard !old.isDeleted else { throw RequestError(.conflict, "id: the message is deleted") }
        return write(seq, .updated, (edit.body ?? nil) ?? "", in: log)
    }

    private mutating func delete(
        _ id: String, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let seq = log.first(id: id)?.seq else { throw .noMessage }
        let old = log.message(seq)
        guard old.author == caller.name || log.record().admins.contains(caller.name) else {
            throw RequestError(.forbidden, "id: only its author or an admin may delete a message")
        }
        guard !old.isDeleted else { return .messages([old], isNew: false) }
        return write(seq, .deleted, "", in: log)
    }

    private mutating func write(
        _ seq: Int, _ type: DeltaType, _ body: String, in log: ModelLog
    ) -> Outcome {
        var log = log
        let message = log.change(seq, delete: type == .deleted, body: body, commit: commit)
        put(log)
        events.append(.message(conversation: log.conversation, type, message, head: log.head))
        return .messages([message], isNew: true)
    }

    // MARK: - Records

    private mutating func create(
        _ id: String?, _ fields: ConversationFields, by caller: Caller
    ) throws(RequestError) -> Outcome {
        ids += 1
        let id = id ?? "c-\(ids)"
        guard log(id) == nil else {
            throw RequestError(.conflict, "id: taken by another conversation")
        }
        var people = caller == .server ? [] : [caller.name]
        people += (fields.participants ?? []).filter { !people.contains($0) }
        epochs += 1
        let log = ModelLog(
            Record(
                id: id, title: fields.title ?? nil, participants: people,
                admins: caller == .server ? [] : [caller.name], metadata: .emptyObject,
                createdAt: now, updatedAt: now, rev: 1, unknown: []),
            epoch: "e\(epochs)", commit: commit)
        put(log)
        events.append(.record(log.record(), head: log.head, removed: [], isNew: true))
        return .conversation(view(log, caller.name, atCommit: commit), isNew: true)
    }

    private mutating func change(
        _ log: ModelLog, by caller: Caller, _ body: (inout Record) -> Void
    ) throws(RequestError) -> Outcome {
        let old = log.record()
        var record = old
        body(&record)
        guard record != old else {
            return .conversation(view(log, caller.name, atCommit: commit), isNew: false)
        }
        var log = log
        record.updatedAt = now
        record = log.write(record, commit: commit)
        put(log)
        let removed = old.participants.filter { !record.participants.contains($0) }
        events.append(.record(record, head: log.head, removed: removed, isNew: false))
        return .conversation(view(log, caller.name, atCommit: commit), isNew: true)
    }

    private mutating func end(_ log: ModelLog, _ caller: Caller) throws(RequestError) -> Outcome {
        let record = log.record()
        guard caller == .server || record.admins.contains(caller.name) else {
            throw RequestError(.forbidden, "conversation: only its admins may delete it")
        }
        var log = log
        log.ended = commit
        put(log)
        events.append(
            .deleted(
                conversation: log.conversation, epoch: log.epoch, participants: record.participants)
        )
        return .done
    }

    private mutating func mark(
        _ log: ModelLog, _ seq: Int, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard seq <= log.highest else {
            throw .badRequest("seq: \(seq) is out of range (0…\(log.highest))")
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

extension Caller {
    fileprivate var name: String {
        if case .user(let user) = self { user } else { "" }
    }
}

extension Record {
    fileprivate mutating func remove(_ users: [String]) {
        participants.removeAll(where: users.contains)
        admins.removeAll(where: users.contains)
    }
}

extension ModelLog {
    fileprivate func has(_ user: String) -> Bool { record().participants.contains(user) }

    /// What was first sent under this id.
    fileprivate func first(id: String) -> (seq: Int, author: String, body: String)? {
        for change in changes {
            guard case .message(let message) = change.value, message.id == id else { continue }
            let body = (try? EncodedMessage.decode(json: message.json))?.body ?? ""
            return (message.seq, message.author, body)
        }
        return nil
    }
}
