import Chat
import Ports
import Rules
import Wire

/// Slot 0: title, metadata, participants and admins. Whatever one call changes of it is one change,
/// decided upon a view of the conversation and written if the record is the same still.
extension SharedOrigin {
    /// A change that is for admins.
    func administer(_ id: String, _ call: Call, _ change: RecordChange) {
        self.change(id, call, naming: change.named) { view throws(RequestError) in
            try Self.requireAdmin(view, call)
            return change
        }
    }

    func remove(_ users: [String], from id: String, _ call: Call) {
        let change = RecordChange(leave: users)
        // Whoever removes nobody but oneself leaves.
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
        change(
            id, call, naming: fields.participants == nil ? fields.admins ?? [] : nil,
            absent: { [self] in insertPut(id, fields, call) },
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
    private static func requireAdmin(_ view: StoredConversation, _ call: Call) throws(RequestError)
    {
        guard let user = call.user, view.member(user)?.isAdmin != true else { return }
        guard view.admins.isEmpty else {
            throw RequestError(.forbidden, "conversation: only its admins may do this")
        }
    }

    // MARK: deciding and writing

    /// - Parameters:
    ///   - named: who must be looked at to decide; nil: everybody.
    ///   - absent: what is to be done where there is no such conversation; nil: that is the answer.
    ///   - mends: whether all are named who take part, so that it does not matter if they are lost.
    ///   - answer: what the outcome is, if it is not the conversation.
    ///   - decide: what is to be changed, or why it may not be.
    private func change(
        _ id: String, _ call: Call, naming named: [String]?,
        absent: (@Sendable () -> Void)? = nil, mends: Bool = false,
        answer: @escaping @Sendable (Outcome) -> Outcome = { $0 },
        decide: @escaping @Sendable (StoredConversation) throws(RequestError) -> RecordChange
    ) {
        recordQueues.enter(id) { [self] over in
            var call = call
            call.ended = { [ended = call.ended] in
                ended?()
                over()
            }
            // What is not there is another matter, and comes back here if it is after all.
            let absent = absent.map { create in
                { @Sendable in
                    over()
                    create()
                }
            }
            tryToChange(
                id, call, naming: named, absent: absent, mends: mends, answer: answer,
                decide: decide)
        }
    }

    private func tryToChange(
        _ id: String, _ call: Call, naming named: [String]?, tries: Int = 0,
        absent: (@Sendable () -> Void)?, mends: Bool,
        answer: @escaping @Sendable (Outcome) -> Outcome,
        decide: @escaping @Sendable (StoredConversation) throws(RequestError) -> RecordChange
    ) {
        view(id, for: call, naming: named, mends: mends) { [self] result in
            do throws(RequestError) {
                let view: StoredConversation
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
                        tryToChange(
                            id, call, naming: named, tries: tries + 1, absent: absent, mends: mends,
                            answer: answer, decide: decide)
                    default: finish(call, result.map(answer))
                    }
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    /// A conversation as the caller may see it.
    /// - Parameters:
    ///   - named: as above.
    ///   - mends: whether one whose members are lost is shown as one without any.
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
    /// Those that are not among `others`, compared as ids.
    fileprivate func excluding(_ others: [String]) -> [String] {
        let taken = Set(others.map(\.exactID))
        return filter { !taken.contains($0.exactID) }
    }
}
