import ClientCore
import JSON
import Wire

/// Edits, deletions, reactions and read markers that wait for a connection, as what is sent does.
extension ChatClient {
    /// Edits a message, now or as soon as there is a session: it is kept until it was made, was
    /// refused, or is in conflict with what somebody else made of the message since. The rows show
    /// what the gateway has; `changes(in:)` has what is not confirmed.
    /// - Returns: The id of the change.
    @discardableResult
    public func queueEdit(
        _ message: String, in conversation: String, body: String?, metadata: RawJSON? = nil,
        mentions: [String]? = nil, mentionAll: Bool? = nil
    ) -> String {
        queue(
            message,
            .edit(body: body, metadata: metadata, mentions: mentions, mentionAll: mentionAll),
            conversation)
    }

    /// Deletes a message, now or as soon as there is a session, as `queueEdit` edits.
    /// - Returns: The id of the change.
    @discardableResult
    public func queueDelete(_ message: String, in conversation: String) -> String {
        queue(message, .delete, conversation)
    }

    /// Reacts to a message, or takes that back, now or as soon as there is a session: of several
    /// that wait with one key, the last counts. The rows show what the gateway has; `changes(in:)`
    /// has what is not confirmed.
    /// - Parameters:
    ///   - key: what to react with, 1 to 64 bytes.
    ///   - isOn: whether the reaction begins or ends.
    /// - Returns: The id of the change.
    @discardableResult
    public func queueReaction(
        _ key: String, to message: String, in conversation: String, isOn: Bool = true
    ) -> String {
        queue(message, .react(key: key, isOn: isOn), conversation)
    }

    /// Says that everything up to a place was read, now or as soon as there is a session.
    public func queueRead(upTo seq: Int, in conversation: String) {
        runner.post { runner in
            runner.restore(conversation)
            runner.perform { session, _ in session.markRead(conversation, upTo: seq) }
        }
    }

    /// Tries a change again that failed; one in conflict is made whatever the message is by now.
    public func retryChange(_ change: String, in conversation: String) {
        runner.post { $0.perform { session, _ in session.retryChange(change, of: conversation) } }
    }

    /// Gives an edit that failed, or is in conflict, another text, and tries it again.
    public func rewriteChange(_ change: String, in conversation: String, body: String?) {
        runner.post { runner in
            runner.perform { session, _ in
                session.rewriteChange(change, body: body, of: conversation)
            }
        }
    }

    /// Gives a change up. One that is under way may still be made.
    public func discardChange(_ change: String, in conversation: String) {
        runner.post { $0.perform { session, _ in session.discardChange(change, of: conversation) } }
    }

    /// The edits, deletions and reactions that are not confirmed, failed, or are in conflict,
    /// oldest first.
    public func changes(in conversation: String) async -> [Change] {
        await runner.run { runner in
            runner.restore(conversation)
            return runner.present.changes(of: conversation)
        }
    }

    private func queue(_ message: String, _ kind: Change.Kind, _ conversation: String) -> String {
        let change = Change(id: MessageID.make(), message: message, kind: kind)
        queue(change, in: conversation)
        return change.id
    }

    func queue(_ change: Change, in conversation: String) {
        runner.post { runner in
            runner.restore(conversation)
            runner.perform { session, _ in session.change(change, in: conversation) }
        }
    }
}
