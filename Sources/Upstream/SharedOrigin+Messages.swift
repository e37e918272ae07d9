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
        look(id, in: conversation, call) { [self] result in
            do throws(RequestError) {
                let seen = try result.get()
                let view = seen.map { seen in
                    MessageView(
                        seen.slot.encoded(conversation: conversation, seq: seen.seq),
                        isAdmin: seen.isAdmin, content: { seen.slot.content })
                }
                let decided = try rule.decide(on: view, by: call.user, within: limits)
                guard let seen, let view else { throw .noMessage }
                guard let decided else {
                    let written = Written(conversation, seen.head)
                    return finish(
                        call, .success(.messages([view.message], at: written, isNew: false)))
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
}

/// The view on which a change of a message is decided: the message, and the caller's role.
struct SeenMessage: Sendable {
    var head: Head
    var recordRev: Int
    var isAdmin: Bool
    var seq: Int
    var slot: StoredMessage
}

extension MessageChange {
    /// The letter of its kind in the scripts and functions of a server.
    var kind: String {
        switch self {
        case .edited: "u"
        case .deleted: "d"
        }
    }

    /// The content that it leaves, as it is stored; nil for a tombstone.
    var stored: [UInt8]? {
        switch self {
        case .edited(let content): StoredMessage.stored(content)
        case .deleted: nil
        }
    }
}
