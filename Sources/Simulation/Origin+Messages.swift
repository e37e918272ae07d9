import Chat
import Engine
import JSON
import Ports
import Wire

/// What becomes of messages: sent once, edited by their author, deleted to a tombstone.
extension Origin {
    mutating func send(
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
        guard old.author == caller.name else {
            throw RequestError(.forbidden, "id: only its author may edit a message")
        }
        guard !old.isDeleted else { throw RequestError(.conflict, "id: the message is deleted") }
        return write(seq, .updated, (edit.body ?? nil) ?? "", in: log)
    }

    mutating func delete(
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
}

extension ModelLog {
    /// What was first sent under this id.
    fileprivate func first(id: String) -> (seq: Int, author: String, body: String)? {
        for change in changes {
            guard case .message(let message) = change.value, message.id == id,
                message.seq >= floor
            else { continue }
            let body = (try? EncodedMessage.decode(json: message.json))?.body ?? ""
            return (message.seq, message.author, body)
        }
        return nil
    }
}
