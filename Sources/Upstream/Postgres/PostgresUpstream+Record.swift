import Chat
import JSON
import Ports
import Rules
import Wire

/// Slot 0: title, metadata, participants and admins. Whatever one call changes of it is one change,
/// decided upon a view of the conversation and written if the record is the same still.
extension PostgresUpstream {
    func changeRecord(_ operation: Operation, _ call: Call) {
        switch operation {
        case .update(let id, let fields):
            let change = RecordChange(
                title: fields.title, metadata: fields.metadata, unknown: fields.unknown,
                ifRev: fields.ifRev)
            self.change(id, call) { view throws(RequestError) in
                try Self.requireAdmin(view, call)
                return change
            }
        case .addParticipants(let id, let users):
            self.change(id, call) { view throws(RequestError) in
                try Self.requireAdmin(view, call)
                return RecordChange(join: users)
            }
        case .removeParticipants(let id, let users):
            self.change(id, call) { view throws(RequestError) in
                // Whoever removes nobody but oneself leaves.
                if !users.allSatisfy({ call.user?.isSameID($0) == true }) {
                    try Self.requireAdmin(view, call)
                }
                return RecordChange(leave: users)
            }
        case .addAdmins(let id, let users):
            self.change(id, call) { view throws(RequestError) in
                try Self.requireAdmin(view, call)
                return RecordChange(promote: users)
            }
        case .removeAdmins(let id, let users):
            self.change(id, call) { view throws(RequestError) in
                try Self.requireAdmin(view, call)
                return RecordChange(demote: users)
            }
        default:
            preconditionFailure("not a change of a record")
        }
    }

    func leave(_ id: String, _ call: Call) {
        guard let user = call.user else { return refuse(id, call, .needsUser) }
        change(id, call, answer: { _ in .done }) { _ in RecordChange(leave: [user]) }
    }

    func put(_ id: String, _ fields: ConversationFields, _ call: Call) {
        guard case .server = call.caller else {
            let text = "conversation: only the server API may put one"
            return finish(call, .failure(RequestError(.forbidden, text)))
        }
        change(
            id, call, absent: { self.insertPut(id, fields, call) },
            // Whoever puts one asks whether the conversation is new, not whether somebody joined.
            answer: { outcome in
                guard case .conversation(let view, _) = outcome else { return outcome }
                return .conversation(view, isNew: false)
            },
            decide: { view in
                var change = RecordChange(
                    title: fields.title, metadata: fields.metadata, unknown: fields.unknown,
                    ifRev: fields.ifRev)
                if let participants = fields.participants {
                    change.join = participants.map { NewParticipant(user: $0) }
                    change.leave = view.users.excluding(participants)
                }
                if let admins = fields.admins {
                    change.promote = admins
                    change.demote = view.admins.excluding(admins)
                }
                return change
            })
    }

    /// Admins change the record; where there are none, everybody who takes part.
    private static func requireAdmin(_ view: RedisView, _ call: Call) throws(RequestError) {
        guard let user = call.user, view.member(user)?.isAdmin != true else { return }
        guard view.admins.isEmpty else {
            throw RequestError(.forbidden, "conversation: only its admins may do this")
        }
    }

    // MARK: deciding and writing

    /// - Parameters:
    ///   - absent: what is to be done where there is no such conversation; nil: that is the answer.
    ///   - answer: what the outcome is, if it is not the conversation.
    ///   - decide: what is to be changed, or why it may not be.
    private func change(
        _ id: String, _ call: Call, tries: Int = 0,
        absent: (@Sendable () -> Void)? = nil,
        answer: @escaping @Sendable (Outcome) -> Outcome = { $0 },
        decide: @escaping @Sendable (RedisView) throws(RequestError) -> RecordChange
    ) {
        view(id, for: call) { [self] result in
            do throws(RequestError) {
                let view: RedisView
                switch result {
                case .success(let found): view = found
                case .failure(.noConversation):
                    guard let absent else { throw .noConversation }
                    return absent()
                case .failure(let error): throw error
                }
                let decided = try RecordDecision(try decide(view), upon: view, within: limits)
                guard let decided else {
                    let outcome = Outcome.conversation(view.shown, isNew: false)
                    return finish(call, .success(answer(outcome)))
                }
                write(decided, of: id, call) { [self] result in
                    switch result {
                    case .failure(.stale) where tries < Self.tryLimit:
                        change(
                            id, call, tries: tries + 1, absent: absent, answer: answer,
                            decide: decide)
                    default: finish(call, result.map(answer))
                    }
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    /// A conversation as the caller may see it.
    func view(
        _ id: String, for call: Call,
        then: @escaping @Sendable (Result<RedisView, RequestError>) -> Void
    ) {
        view(id, with: call.user) { result in
            then(
                result.flatMap { view in
                    if let user = call.user, view.member(user) == nil {
                        return .failure(.noConversation)
                    }
                    return .success(view)
                })
        }
    }

    /// Writes the change of a conversation that is there; fails with `stale` if it does not stand
    /// any more.
    private func write(
        _ decided: RecordDecision, of id: String, _ call: Call,
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
                    guard let view = answer["view"].flatMap({ RedisView(postgres: $0, of: id) })
                    else { return .failure(.unreadable) }
                    return .success(.conversation(view.shown, isNew: decided.isNew))
                })
        }
    }

    /// - Parameter limit: how many conversations the caller may be in that creates another; 0: any
    ///   number.
    func writeRecord(
        _ decided: RecordDecision, of id: String, _ call: Call, limit: Int,
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
        json.member("people", string: decided.people.isEmpty ? nil : decided.people)
        json.member("creator", string: call.user)
        json.member("creatorLimit", int: limit)
        json.member("users", strings: decided.users)
        json.member("leave", strings: decided.leaving)
        json.key("write")
        json.beginArray()
        let ruling = Set(decided.admins.map(\.exactID))
        for member in decided.written {
            json.beginObject()
            json.member("user", string: member.user)
            json.member("admin", bool: ruling.contains(member.user.exactID))
            let fields = (try? JSONObject(member.fields))?.members ?? []
            for field in fields { json.member(field) }
            json.endObject()
        }
        json.endArray()
        json.endObject()
        pool.write(json.bytes, of: id) { [self] result in then(checked(result, id)) }
    }

    // MARK: deleting

    func deleteConversation(_ id: String, _ call: Call, tries: Int = 0) {
        view(id, for: call) { [self] result in
            do throws(RequestError) {
                let view = try result.get()
                if let user = call.user, view.member(user)?.isAdmin != true {
                    throw RequestError(.forbidden, "conversation: only its admins may delete it")
                }
                var json = JSONWriter()
                json.beginObject()
                json.member("op", string: "remove")
                json.member("c", string: id)
                json.member("epoch", string: view.head.epoch)
                json.member("recordRev", int: view.recordRev)
                json.endObject()
                pool.write(json.bytes, of: id) { [self] result in
                    let answer = checked(result, id)
                    if case .success(let answer) = answer, answer.word == "stale" {
                        guard tries < Self.tryLimit else {
                            return finish(call, .failure(.fateUnknown))
                        }
                        return deleteConversation(id, call, tries: tries + 1)
                    }
                    finish(call, answer.map { _ in .done })
                }
            } catch {
                finish(call, .failure(error))
            }
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

extension [String] {
    /// Those that are not among `others`, compared as ids.
    fileprivate func excluding(_ others: [String]) -> [String] {
        let taken = Set(others.map(\.exactID))
        return filter { !taken.contains($0.exactID) }
    }
}
