import Chat
import Crypto
import JSON
import Ports
import Rules
import Wire

/// Slot 0: title, metadata, participants and admins. Whatever one call changes of it is one change,
/// decided upon a view of the conversation and written if the record is the same still.
extension Redis {
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
            mends: fields.participants != nil,
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
    ///   - mends: whether all are named who take part, so that it does not matter if they are lost.
    ///   - answer: what the outcome is, if it is not the conversation.
    ///   - decide: what is to be changed, or why it may not be.
    private func change(
        _ id: String, _ call: Call, tries: Int = 0,
        absent: (@Sendable () -> Void)? = nil, mends: Bool = false,
        answer: @escaping @Sendable (Outcome) -> Outcome = { $0 },
        decide: @escaping @Sendable (RedisView) throws(RequestError) -> RecordChange
    ) {
        view(id, for: call, mends: mends) { result in
            do throws(RequestError) {
                let view: RedisView
                switch result {
                case .success(let found): view = found
                case .failure(.noConversation):
                    guard let absent else { throw .noConversation }
                    return absent()
                case .failure(let error): throw error
                }
                let decided = try RecordDecision(
                    try decide(view), upon: view, within: self.limits)
                guard let decided else {
                    let outcome = Outcome.conversation(view.shown, isNew: false)
                    return self.finish(call, .success(answer(outcome)))
                }
                self.write(decided, of: id, call) { result in
                    switch result {
                    case .failure(.stale) where tries < Self.tryLimit:
                        self.change(
                            id, call, tries: tries + 1, absent: absent, mends: mends,
                            answer: answer, decide: decide)
                    default: self.finish(call, result.map(answer))
                    }
                }
            } catch {
                self.finish(call, .failure(error))
            }
        }
    }

    /// A conversation as the caller may see it.
    /// - Parameter mends: whether one whose members are lost is shown as one without any.
    func view(
        _ id: String, for call: Call, mends: Bool = false,
        then: @escaping @Sendable (Result<RedisView, RequestError>) -> Void
    ) {
        view(id, with: call.user, mends: mends) { result in
            then(
                result.flatMap { view in
                    if let user = call.user, view.member(user) == nil {
                        return .failure(.noConversation)
                    }
                    return .success(view)
                })
        }
    }

    /// A conversation with what the reader, who takes part in it, has read.
    func view(
        _ id: String, with reader: String?, mends: Bool = false,
        then: @escaping @Sendable (Result<RedisView, RequestError>) -> Void
    ) {
        run(.view, of: id, [reader ?? "", mends ? "1" : "0"].map { Array($0.utf8) }) { result in
            then(
                result.flatMap { answer in
                    RedisView(answer.parts, of: id).map { .success($0) } ?? .failure(.unreadable)
                })
        }
    }

    /// Writes what was decided; fails with `stale` if it does not stand any more. Whoever joins has
    /// the entry in the own list first: an entry too many is found out, one too few is not.
    func write(
        _ decided: RecordDecision, of id: String, _ call: Call,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void
    ) {
        let entries = decided.leaving.map { entry(of: $0, id) }
        servers.send(entries + decided.joining.map { entering($0, id) }) { result in
            let refused = result.map { $0.lazy.compactMap(\.errorCode).first }
            switch refused {
            case .failure(let error): return then(.failure(error))
            case .success(let code?):
                return then(self.read(.error(code), .record, id).map { _ in .done })
            case .success(nil): break
            }
            let left = Array(((try? result.get()) ?? []).prefix(entries.count))
            self.run(.record, of: id, decided.arguments(viewer: call.user)) { result in
                then(
                    result.flatMap { answer in
                        switch answer.word {
                        case "taken": return .failure(.conversationTaken)
                        case "stale": return .failure(.stale)
                        default: break
                        }
                        self.tellLists(of: decided.joining, id, isIn: true)
                        self.takeOff(id, decided.leaving, left)
                        if decided.isCreation {
                            // Whoever left one of this id that is gone may be about to be taken
                            // off by the entry from before.
                            let again = decided.joining.map { self.entering($0, id) }
                            self.servers.send(again) { _ in }
                        }
                        self.tellLists(of: decided.leaving, id, isIn: false)
                        guard let view = RedisView(answer.parts, of: id) else {
                            return .failure(.unreadable)
                        }
                        return .success(.conversation(view.shown, isNew: decided.isNew))
                    })
            }
        }
    }

    // MARK: deleting

    func deleteConversation(_ id: String, _ call: Call, tries: Int = 0) {
        view(id, for: call) { result in
            do throws(RequestError) {
                let view = try result.get()
                if let user = call.user, view.member(user)?.isAdmin != true {
                    throw RequestError(.forbidden, "conversation: only its admins may delete it")
                }
                self.servers.send(view.users.map { self.entry(of: $0, id) }) { result in
                    switch result {
                    case .failure(let error): self.finish(call, .failure(error))
                    case .success(let entries): self.remove(id, view, entries, call, tries)
                    }
                }
            } catch {
                self.finish(call, .failure(error))
            }
        }
    }

    /// - Parameter entries: of those who take part, in their lists.
    private func remove(
        _ id: String, _ view: RedisView, _ entries: [RedisReply], _ call: Call, _ tries: Int
    ) {
        let texts = [view.head.epoch, String(view.recordRev)].map { Array($0.utf8) }
        run(.remove, of: id, texts + [RedisEvent.pack(view.users)]) { result in
            switch result {
            case .failure(let error): self.finish(call, .failure(error))
            case .success(let answer) where answer.word == "stale":
                guard tries < Self.tryLimit else {
                    return self.finish(call, .failure(.fateUnknown))
                }
                self.deleteConversation(id, call, tries: tries + 1)
            case .success(let answer):
                self.takeOff(id, view.users, entries)
                self.tellLists(of: view.users, id, isIn: false)
                if let people = answer[1].string { self.release(people, from: id) }
                self.finish(call, .success(.done))
            }
        }
    }
}

extension RequestError {
    /// The record changed while it was decided upon.
    static let stale = RequestError(
        .originUnavailable, "the conversation changes too fast", retry: .now)
}

extension [String] {
    /// Those that are not among `others`, compared as ids.
    fileprivate func excluding(_ others: [String]) -> [String] {
        let taken = Set(others.map(\.exactID))
        return filter { !taken.contains($0.exactID) }
    }
}
