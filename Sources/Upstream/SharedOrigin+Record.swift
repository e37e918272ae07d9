import Chat
import Ports
import Rules
import Wire

/// Slot 0: decided on a view of the conversation, and written only if the record is still the same.
extension SharedOrigin {
    /// Creates the conversation that a change did not find.
    private func create(_ id: String, by rule: RecordRule, _ call: Call) {
        do throws(RequestError) {
            let creation = try rule.creation(within: limits)
            write(RecordWrite(creation, people: nil), of: id, call) { [self] result in
                switch result {
                // Another call was faster: now it is a change.
                case .failure(.conversationTaken): change(id, by: rule, call)
                default: finish(call, result)
                }
            }
        } catch {
            finish(call, .failure(error))
        }
    }

    func deleteConversation(_ id: String, _ call: Call, tries: Int = 0) {
        view(id, for: call, naming: nil) { [self] result in
            do throws(RequestError) {
                let view = try result.get()
                let isAdmin = call.user.flatMap(view.member)?.isAdmin == true
                try RecordRule.checkDeletion(by: call.user, isAdmin: isAdmin)
                remove(id, view, call) { [self] in
                    guard tries < Self.tryLimit else { return finish(call, .failure(.stale)) }
                    deleteConversation(id, call, tries: tries + 1)
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    // MARK: deciding and writing

    func change(_ id: String, by rule: RecordRule, _ call: Call) {
        inTurn(id, call) { [self] queued, over in
            // A missing conversation is created outside this queue; the create comes back here if
            // the conversation exists after all.
            tryToChange(id, by: rule, queued) { [self] in
                over()
                create(id, by: rule, call)
            }
        }
    }

    /// Decides one at a time per conversation.
    /// - Parameter body: gets the call, whose end lets the next one begin, and what lets it begin
    ///   without that.
    func inTurn(
        _ conversation: String, _ call: Call,
        _ body: @escaping @Sendable (Call, _ over: @escaping @Sendable () -> Void) -> Void
    ) {
        recordQueues.enter(conversation) { over in
            var queued = call
            queued.ended = {
                call.ended?()
                over()
            }
            body(queued, over)
        }
    }

    /// - Parameter absent: what to do if there is no such conversation, or none for the caller.
    private func tryToChange(
        _ id: String, by rule: RecordRule, _ call: Call, tries: Int = 0,
        absent: @escaping @Sendable () -> Void
    ) {
        view(id, for: call, naming: rule.named(by: call.user), mends: rule.mends) { [self] result in
            do throws(RequestError) {
                if case .failure(.noConversation) = result { return absent() }
                let view = try result.get()
                let decided = try rule.decide(on: view.seen, by: call.user, within: limits)
                guard let decided else {
                    return finish(call, .success(rule.outcome(view.shown, isNew: false)))
                }
                write(RecordWrite(decided, of: view), of: id, call) { [self] result in
                    switch result {
                    case .failure(.stale) where tries < Self.tryLimit:
                        tryToChange(id, by: rule, call, tries: tries + 1, absent: absent)
                    case .success(.conversation(let view, let isNew)):
                        finish(call, .success(rule.outcome(view, isNew: isNew)))
                    default: finish(call, result)
                    }
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    /// A conversation, or `noConversation` for a user who does not take part.
    /// - Parameters:
    ///   - named: the participants that the view must include beside the user and the admins; nil:
    ///     all.
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
