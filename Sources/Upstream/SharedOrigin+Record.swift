import Chat
import Ports
import Rules
import Wire

/// Slot 0: title, metadata, participants and admins. All that one call changes of it is one change
/// of the log: decided on a view of the conversation, and written only if the record is still the
/// same.
extension SharedOrigin {
    func change(_ id: String, by operation: Operation, _ call: Call) {
        guard let change = RecordChange(operation) else { return }
        let needsAdmin = operation.needsAdmin(by: call.user)
        self.change(id, call, naming: change.named) { view throws(RequestError) in
            if needsAdmin { try Self.requireAdmin(view, call) }
            return change
        }
    }

    func leave(_ id: String, _ call: Call) {
        guard let user = call.user else { return refuse(id, call, .needsUser) }
        change(id, call, naming: [user], answer: { _ in .done }) { _ in
            RecordChange(leave: [user])
        }
    }

    func put(_ id: String, _ fields: ConversationFields, _ call: Call) {
        guard case .server = call.caller else {
            return finish(call, .failure(.serverPuts))
        }
        var edit = RecordEdit(
            call: call, named: fields.participants == nil ? fields.admins ?? [] : nil,
            decide: { RecordChange(put: fields, users: $0.users, admins: $0.admins) })
        edit.absent = { [self] in insertPut(id, fields, call) }
        edit.mends = fields.participants != nil
        // `isNew` says whether a PUT made the conversation, not whether somebody joined it.
        edit.answer = { outcome in
            guard case .conversation(let view, _) = outcome else { return outcome }
            return .conversation(view, isNew: false)
        }
        change(id, edit)
    }

    /// Creates the conversation that a `put` did not find.
    private func insertPut(_ id: String, _ fields: ConversationFields, _ call: Call) {
        do throws(RequestError) {
            // A missing conversation has no rev to compare.
            if fields.ifRev != nil { throw .noConversation }
            let said = try Description(put: fields).new(within: limits)
            let members = try MembershipChange(of: fields, within: limits)
            let decided = RecordDecision(said, members: members, people: nil, createdBy: nil)
            write(decided, of: id, call) { [self] result in
                // Another PUT was faster: now it is a change.
                if case .failure(.conversationTaken) = result { return put(id, fields, call) }
                finish(call, result)
            }
        } catch {
            finish(call, .failure(error))
        }
    }

    func deleteConversation(_ id: String, _ call: Call, tries: Int = 0) {
        view(id, for: call, naming: nil) { [self] result in
            do throws(RequestError) {
                let view = try result.get()
                if let user = call.user, view.member(user)?.isAdmin != true {
                    throw RequestError.adminsDelete
                }
                remove(id, view, call) { [self] in
                    guard tries < Self.tryLimit else { return finish(call, .failure(.stale)) }
                    deleteConversation(id, call, tries: tries + 1)
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    /// Admins change the record; if there are none, every participant may.
    private static func requireAdmin(_ view: StoredConversation, _ call: Call) throws(RequestError)
    {
        guard let user = call.user, view.member(user)?.isAdmin != true else { return }
        guard view.admins.isEmpty else { throw .adminsOnly }
    }

    // MARK: deciding and writing

    private func change(
        _ id: String, _ call: Call, naming named: [String]?,
        answer: @escaping @Sendable (Outcome) -> Outcome = { $0 },
        decide: @escaping @Sendable (StoredConversation) throws(RequestError) -> RecordChange
    ) {
        var edit = RecordEdit(call: call, named: named, decide: decide)
        edit.answer = answer
        change(id, edit)
    }

    private func change(_ id: String, _ edit: RecordEdit) {
        recordQueues.enter(id) { [self] over in
            var edit = edit
            edit.call.ended = { [ended = edit.call.ended] in
                ended?()
                over()
            }
            // A missing conversation is created outside this queue; the create comes back here if
            // the conversation exists after all.
            edit.absent = edit.absent.map { create in
                { @Sendable in
                    over()
                    create()
                }
            }
            tryToChange(id, edit)
        }
    }

    private func tryToChange(_ id: String, _ edit: RecordEdit, tries: Int = 0) {
        let call = edit.call
        view(id, for: call, naming: edit.named, mends: edit.mends) { [self] result in
            do throws(RequestError) {
                let view: StoredConversation
                switch result {
                case .success(let found): view = found
                case .failure(.noConversation):
                    guard let absent = edit.absent else { throw .noConversation }
                    return absent()
                case .failure(let error): throw error
                }
                let decided = try RecordDecision(
                    try edit.decide(view), upon: view, within: limits)
                guard let decided else {
                    let outcome = Outcome.conversation(view.shown, isNew: false)
                    return finish(call, .success(edit.answer(outcome)))
                }
                write(decided, of: id, call) { [self] result in
                    switch result {
                    case .failure(.stale) where tries < Self.tryLimit:
                        tryToChange(id, edit, tries: tries + 1)
                    default: finish(call, result.map(edit.answer))
                    }
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    /// A conversation, or `noConversation` for a user who does not take part.
    /// - Parameters:
    ///   - named: as in `change`.
    ///   - mends: whether a conversation whose member rows are lost is shown without members.
    func view(
        _ id: String, for call: Call, naming named: [String]?, mends: Bool = false,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void
    ) {
        view(id, with: call.user, naming: named, mends: mends) { result in
            then(
                result.flatMap { view in
                    if let user = call.user, view.member(user) == nil {
                        return .failure(.noConversation)
                    }
                    return .success(view)
                })
        }
    }
}

/// A change of a record that is being decided.
private struct RecordEdit: Sendable {
    var call: OriginCall
    /// The users whose membership the decision depends on; nil: all participants.
    let named: [String]?
    /// The change to make, or the error why it is refused.
    let decide: @Sendable (StoredConversation) throws(RequestError) -> RecordChange
    /// What to do if there is no such conversation; nil: fail with that error.
    var absent: (@Sendable () -> Void)?
    /// Whether the call names all participants, so that lost member rows don't matter.
    var mends = false
    /// Makes the answer from the outcome, if it is not the conversation.
    var answer: @Sendable (Outcome) -> Outcome = { $0 }

    init(
        call: OriginCall, named: [String]?,
        decide: @escaping @Sendable (StoredConversation) throws(RequestError) -> RecordChange
    ) {
        self.call = call
        self.named = named
        self.decide = decide
    }
}
