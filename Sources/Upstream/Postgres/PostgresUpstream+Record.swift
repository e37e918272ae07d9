import Chat
import JSON
import Ports
import Rules
import Wire

/// Writes decided changes of slot 0.
extension PostgresUpstream {
    /// Writes a change of an existing conversation; fails with `stale` if the view it was decided
    /// on no longer holds.
    func write(
        _ decided: RecordWrite, of id: String, _ call: Call,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void
    ) {
        writeRecord(decided, of: id, call, limit: 0) { result in
            then(
                result.flatMap { answer in
                    switch answer.word {
                    case "stale": return .failure(.stale)
                    case "taken": return .failure(.conversationTaken)
                    default: break
                    }
                    guard
                        let view = answer["view"].flatMap({
                            StoredConversation(postgres: $0, of: id)
                        })
                    else { return .failure(.unreadable) }
                    return .success(.conversation(view.shown, isNew: decided.isNew))
                })
        }
    }

    /// - Parameter limit: the most conversations of a caller who creates one; 0: any number.
    func writeRecord(
        _ decided: RecordWrite, of id: String, _ call: Call, limit: Int,
        then: @escaping @Sendable (Result<PostgresAnswer, RequestError>) -> Void
    ) {
        let isCreated = decided.epoch.isEmpty
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "record")
        json.member("c", string: id)
        json.member("epoch", string: isCreated ? nil : decided.epoch)
        json.member("newEpoch", string: isCreated ? newEpoch() : nil)
        json.key("recordRev")
        if let rev = Int(decided.recordRev) { json.int(rev) } else { json.null() }
        json.member("viewer", string: call.user)
        json.member("title", string: decided.title)
        json.member("metadata", raw: decided.metadata)
        json.member("unknown", members: decided.unknown)
        json.member("createdBy", string: decided.creator.isEmpty ? nil : decided.creator)
        json.member("people", string: decided.distinct.isEmpty ? nil : decided.distinct)
        json.member("creator", string: call.user)
        json.member("creatorLimit", int: limit)
        json.member("mends", bool: decided.mends)
        json.member("users", strings: decided.users)
        json.member("leave", strings: decided.leaving)
        json.key("write")
        json.beginArray()
        let ruling = Set(decided.admins.map(\.id))
        for member in decided.written {
            json.beginObject()
            json.member("user", string: member.user)
            json.member("admin", bool: ruling.contains(member.user.id))
            let fields = (try? JSONObject(member.fields))?.members ?? []
            for field in fields { json.member(field) }
            json.endObject()
        }
        json.endArray()
        json.endObject()
        answers.pool.write(json.bytes, of: id) { [self] result in then(answers.checked(result, id))
        }
    }

    // MARK: deleting

    func remove(
        _ id: String, _ view: StoredConversation, _ call: Call,
        stale: @escaping @Sendable () -> Void
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "remove")
        json.member("c", string: id)
        json.member("epoch", string: view.head.epoch)
        json.member("recordRev", int: view.recordRev)
        json.endObject()
        answers.pool.write(json.bytes, of: id) { [self] result in
            let answer = answers.checked(result, id)
            if case .success(let answer) = answer, answer.word == "stale" { return stale() }
            finish(call, answer.map { _ in .removed(people: view.users.count) })
        }
    }
}

extension JSONWriter {
    /// A member with an array of strings.
    mutating func member(_ name: String, strings: [String]) {
        key(name)
        beginArray()
        for text in strings { string(text) }
        endArray()
    }
}
