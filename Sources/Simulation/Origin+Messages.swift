import Chat
import Engine
import JSON
import Ports
import Rules
import Wire

/// Writes of messages: sent once, edited by their author, deleted to a tombstone.
extension Origin {
    mutating func send(
        _ messages: [NewMessage], to log: ModelLog
    ) throws(RequestError) -> Outcome {
        var log = log
        var sent: [EncodedMessage] = []
        var isNew = false
        for message in messages {
            let content = message.content
            if let id = content.id, let known = log.first(id: id) {
                guard known.author == message.author,
                    known.content.canonical() == content.canonical()
                else {
                    throw RequestError(.conflict, "id: taken by another message")
                }
                sent.append(log.message(known.seq))
                continue
            }
            ids += 1
            let encoded = log.insert(
                content, id: content.id ?? "m\(ids)", author: message.author, at: now,
                commit: commit)
            if retained > 0 { log.raiseFloor(to: log.highest - retained + 1) }
            log.markers[message.author, default: []].append((commit, encoded.seq))
            events.append(
                .message(conversation: log.conversation, .inserted, encoded, head: log.head))
            sent.append(encoded)
            isNew = true
        }
        put(log)
        return .messages(sent, isNew: isNew)
    }

    mutating func edit(
        _ id: String, _ edit: MessageEdit, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let seq = log.first(id: id)?.seq else { throw .noMessage }
        let old = log.message(seq)
        guard caller == .server || old.author == caller.name else {
            throw RequestError(.forbidden, "id: only its author may edit a message")
        }
        guard !old.isDeleted else { throw old.refusedAsDeleted(ifRev: edit.ifRev) }
        guard let edited = try old.content.edited(by: edit, of: old, within: limits) else {
            return .messages([old], isNew: false)
        }
        return write(seq, .updated, edited, in: log)
    }

    mutating func delete(
        _ id: String, ifRev: Int?, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let seq = log.first(id: id)?.seq else { throw .noMessage }
        let old = log.message(seq)
        let isAdmin = caller == .server || log.record().admins.contains(caller.name)
        guard isAdmin || old.author == caller.name else {
            throw RequestError(.forbidden, "id: only its author or an admin may delete a message")
        }
        guard !old.isDeleted else { return .messages([old], isNew: false) }
        try old.check(ifRev: ifRev)
        return write(seq, .deleted, MessageContent(), in: log)
    }

    private mutating func write(
        _ seq: Int, _ type: DeltaType, _ content: MessageContent, in log: ModelLog
    ) -> Outcome {
        var log = log
        let message = log.change(seq, to: content, delete: type == .deleted, commit: commit)
        put(log)
        events.append(.message(conversation: log.conversation, type, message, head: log.head))
        return .messages([message], isNew: true)
    }
}
