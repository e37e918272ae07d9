import Chat
import Ports
import Rules
import Wire

/// Edits and deletes messages: decided on a view of the message, and written only if it is still
/// the same. Users edit only their own; a deleted message becomes a tombstone.
extension SharedOrigin {
    /// Refuses a call that no conversation would accept; who does not take part gets `not_found`.
    func refuse(_ conversation: String, _ call: Call, _ error: RequestError) {
        look("", in: conversation, call) { [self] result in
            finish(call, result.flatMap { _ in .failure(error) })
        }
    }

    func edit(_ id: String, _ edit: MessageEdit, of conversation: String, _ call: Call) {
        let limits = limits
        replace(id, of: conversation, call) { (seen, message) throws(RequestError) in
            try message.checkEdit(by: call.user, ifRev: edit.ifRev)
            let edited = try seen.slot.content.edited(by: edit, of: message, within: limits)
            return edited.map {
                MessageReplacement(kind: "u", content: StoredMessage.stored($0))
            }
        }
    }

    func delete(_ id: String, ifRev: Int?, of conversation: String, _ call: Call) {
        replace(id, of: conversation, call) { (seen, message) throws(RequestError) in
            let isThere = try message.checkDeletion(
                by: call.user, isAdmin: seen.isAdmin, ifRev: ifRev)
            return isThere ? MessageReplacement(kind: "d", content: nil) : nil
        }
    }

    /// Reads a message, decides, and writes with compare-and-set; if the message changed meanwhile,
    /// starts again.
    private func replace(
        _ id: String, of conversation: String, _ call: Call, tries: Int = 0,
        decide:
            @escaping @Sendable (SeenMessage, EncodedMessage) throws(RequestError) ->
            MessageReplacement?
    ) {
        look(id, in: conversation, call) { [self] result in
            do throws(RequestError) {
                guard let seen = try result.get() else { throw .noMessage }
                let message = seen.slot.encoded(conversation: conversation, seq: seen.seq)
                guard let replacement = try decide(seen, message) else {
                    let written = Written(conversation, seen.head)
                    return finish(
                        call, .success(.messages([message], at: written, isNew: false)))
                }
                write(replacement, of: seen, in: conversation, call) { [self] in
                    guard tries < Self.tryLimit else { return finish(call, .failure(.stale)) }
                    replace(id, of: conversation, call, tries: tries + 1, decide: decide)
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }
}

/// The view on which a change of a message is decided: the message, and the caller's role.
struct SeenMessage: Sendable {
    var head: Head
    var recordRev: Int
    var isAdmin: Bool
    var seq: Int
    var slot: StoredMessage
}

/// The new value of a message; without content if it is deleted.
struct MessageReplacement: Sendable {
    var kind: String
    var content: [UInt8]?
}
