import Chat
import Ports
import Rules
import Wire

/// Slot 0: title, metadata, participants and admins. All that one call changes of it is one change
/// of the log: decided on a view of the conversation, and written only if the record is still the
/// same.
extension SharedOrigin {
    /// A change that only admins may make.
    func administer(_ id: String, _ call: Call, _ change: RecordChange) {
        self.change(id, call, naming: change.named) { view throws(RequestError) in
            try Self.requireAdmin(view, call)
            return change
        }
    }

    func remove(_ users: [String], from id: String, _ call: Call) {
        let change = RecordChange(leave: users)
        // Users who remove only themselves leave; that needs no admin.
        guard users.allSatisfy({ call.user?.isSameID($0) == true }) else {
            return administer(id, call, change)
        }
        self.change(id, call, naming: users) { _ in change }
    }

    func leave(_ id: String, _ call: Call) {
        guard let user = call.user else { return refuse(id, call, .needsUser) }
        change(id, call, naming: [user], answer: { _ in .done }) { _ in
            RecordChange(leave: [user])
        }
    }

    func put(_ id: String, _ fields: ConversationFields, _ call: Call) {
        guard case .server = call.caller else {
            let text = "conversation: only the server API may put one"
            return finish(call, .failure(RequestError(.forbidden, text)))
        }
        var edit = RecordEdit(
            call: call, named: fields.participants == nil ? fields.admins ?? [] : nil,
            decide: { view in
                var change = RecordChange(
                    title: fields.title, metadata: fields.metadata, unknown: fields.unknownFields,
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
        edit.absent = { [self] in insertPut(id, fields, call) }
        edit.mends = fields.participants != nil
        // `isNew` says whether a PUT made the conversation, not whether somebody joined it.
        edit.answer = { outcome in
            guard case .conversation(let view, _) = outcome else { return outcome }
            return .conversation(view, isNew: false)
        }
        change(id, edit)
    }

    /// Admins change the record; if there are none, every participant may.
    private static func requireAdmin(_ view: StoredConversation, _ call: Call) throws(RequestError)
    {
        guard let user = call.user, view.member(user)?.isAdmin != true else { return }
        guard view.admins.isEmpty else {
            throw RequestError(.forbidden, "conversation: only its admins may do this")
        }
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

extension [String] {
    /// The strings that are not in `others`, compared as ids (byte by byte).
    fileprivate func excluding(_ others: [String]) -> [String] {
        let taken = Set(others.map(\.id))
        return filter { !taken.contains($0.id) }
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
