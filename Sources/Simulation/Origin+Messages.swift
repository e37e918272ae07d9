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
                    throw RequestError(.messageIDTaken, "id: taken by another message")
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
                .message(
                    conversation: log.conversation, .inserted, encoded, head: log.head,
                    after: log.markBefore))
            sent.append(encoded)
            isNew = true
        }
        put(log)
        return .messages(sent, at: log.written, isNew: isNew)
    }

    mutating func edit(
        _ id: String, _ edit: MessageEdit, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let seq = log.first(id: id)?.seq else { throw .noMessage }
        let old = log.message(seq)
        try old.checkEdit(by: caller == .server ? nil : caller.name, ifRev: edit.ifRev)
        guard let edited = try old.content.edited(by: edit, of: old, within: limits) else {
            return .messages([old], at: log.written, isNew: false)
        }
        return write(seq, .updated, edited, in: log)
    }

    mutating func delete(
        _ id: String, ifRev: Int?, in log: ModelLog, _ caller: Caller
    ) throws(RequestError) -> Outcome {
        guard let seq = log.first(id: id)?.seq else { throw .noMessage }
        let old = log.message(seq)
        let isThere = try old.checkDeletion(
            by: caller == .server ? nil : caller.name,
            isAdmin: log.record().admins.contains(caller.name), ifRev: ifRev)
        guard isThere else { return .messages([old], at: log.written, isNew: false) }
        return write(seq, .deleted, MessageContent(), in: log)
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
    fileprivate var written: Written { Written(conversation, head) }
}
