import Chat
import Ports
import Rules
import Wire

/// Edits and deletes messages: decided on a view of the message, and written only if it is still
/// the same.
extension SharedOrigin {
    /// Reads a message, decides, and writes with compare-and-set; if the message changed meanwhile,
    /// starts again.
    func change(
        _ id: String, of conversation: String, by rule: MessageRule, _ call: Call, tries: Int = 0
    ) {
        look(id, in: conversation, for: rule, call) { [self] result in
            do throws(RequestError) {
                let seen = try result.get()
                let view = seen.map { seen in
                    MessageView(
                        seen.slot.encoded(conversation: conversation, seq: seen.seq),
                        isAdmin: seen.isAdmin, reactions: seen.reactions?.view,
                        mentions: seen.mentions,
                        content: { seen.slot.content })
                }
                let decided = try rule.decide(on: view, by: call.user, within: limits)
                guard let seen, let view else { throw .noMessage }
                guard let decided else {
                    let written = Written(conversation, seen.head)
                    return finish(
                        call, .success(rule.outcome(view.message, seen, written, by: call.user)))
                }
                write(decided, of: seen, in: conversation, call) { [self] in
                    guard tries < Self.tryLimit else { return finish(call, .failure(.stale)) }
                    change(id, of: conversation, by: rule, call, tries: tries + 1)
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    /// Reactions to the messages of a conversation come one after the other: many users react to
    /// one message at once, and each would find it changed.
    func react(_ reacting: Reacting, to id: String, of conversation: String, _ call: Call) {
        inTurn(conversation, call) { [self] queued, _ in
            checkEnabled { [self] result in
                switch result {
                case .success: change(id, of: conversation, by: .react(reacting), queued)
                case .failure(let error): finish(queued, .failure(error))
                }
            }
        }
    }
}

extension MessageRule {
    /// The reaction that it decides.
    var reacting: Reacting? { if case .react(let reacting) = self { reacting } else { nil } }

    /// The users of whom an edit asks whether they take part; nil if it says nothing of mentions.
    var mentioned: [String]? {
        guard case .edit(let edit) = self, edit.isAddressed else { return nil }
        return edit.mentions ?? []
    }

    /// The outcome where nothing changes.
    fileprivate func outcome(
        _ message: EncodedMessage, _ seen: SeenMessage, _ written: Written, by user: String?
    ) -> Outcome {
        reacting == nil
            ? .messages([message], at: written, isNew: false)
            : .reacted(message, own: seen.reactions?.own ?? [], at: written)
    }
}

extension MessageChange {
    /// The outcome of the change.
    /// - Parameters:
    ///   - stored: what the server answered to the write.
    ///   - seen: what it was decided on.
    func outcome(_ stored: Outcome, _ seen: SeenMessage, by user: String?) -> Outcome {
        guard case .reacted(let reacted) = self,
            case .messages(let messages, let written, _) = stored, let message = messages.first
        else { return stored }
        let reacting = reacted.reacting
        let own = reacting.keys(of: user ?? reacting.user, after: seen.reactions?.own ?? [])
        return .reacted(message, own: own, at: written)
    }
}

/// The view on which a change of a message is decided: the message, and the caller's role.
struct SeenMessage: Sendable {
    var head: Head
    var recordRev: Int
    var isAdmin: Bool
    var seq: Int
    var slot: StoredMessage
    /// Who reacts to it, where a reaction is to be decided.
    var reactions: SeenReactions?
    /// Who may be mentioned, where an edit asks.
    var mentions: MentionView?
}

/// What is seen of the reactions to a message.
struct SeenReactions: Sendable {
    /// The caller's own keys; for the server API, those of the user.
    var own: [String]
    var view: ReactionView
}

extension MessageChange {
    /// The letter of its kind in the scripts and functions of a server.
    var kind: String {
        switch self {
        case .edited: "u"
        case .deleted: "d"
        case .reacted: "r"
        }
    }

    /// The content that it leaves, as it is stored; nil for a tombstone. Of a reaction, what the
    /// message shows of all of them.
    /// - Parameter isAddressed: whether to what it replies and whom it mentions is part of it.
    func stored(addressed isAddressed: Bool) -> [UInt8]? {
        switch self {
        case .edited(let content): StoredMessage.stored(content, addressed: isAddressed)
        case .deleted: nil
        case .reacted(let reacted): StoredReactions.text(reacted.shown)
        }
    }
}
