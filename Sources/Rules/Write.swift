import Ports
import Wire

/// A write by what it is decided on. The store looks that up for those who may see it, asks the
/// rule, and writes the change on condition that what it saw still holds.
package enum Write: Sendable {
    case send(to: String, [NewMessage])
    /// Of one message.
    case message(String, of: String, MessageRule)
    /// Of slot 0.
    case record(of: String, RecordRule)
    case create(id: String?, ConversationFields, distinct: Bool)
    case findDistinct(ConversationFields, otherwise: RequestError)
    case deleteConversation(String)
    case markRead(String, seq: Int)
}

extension Operation {
    /// The write that it is.
    /// - Throws: if no store need look anything up to refuse it.
    package func write(by caller: Caller) throws(RequestError) -> Write {
        switch self {
        case .send(let id, let messages): return .send(to: id, messages)
        case .edit(let id, let message, let edit): return .message(message, of: id, .edit(edit))
        case .delete(let id, let message, let ifRev):
            return .message(message, of: id, .delete(ifRev: ifRev))
        case .react(let id, let message, let call):
            guard let user = call.user ?? caller.userID else { throw .needsUser }
            return .message(message, of: id, .react(Reacting(key: call.key, isOn: call.isOn, user)))
        case .create(let id, let fields, let isDistinct):
            return .create(id: id, fields, distinct: isDistinct)
        case .findDistinct(let fields, let refusal):
            return .findDistinct(fields, otherwise: refusal)
        case .put(let id, let fields):
            guard case .server = caller else { throw .serverPuts }
            return .record(of: id, .put(fields))
        case .update(let id, let fields): return .record(of: id, .update(fields))
        case .addParticipants(let id, let users): return .record(of: id, .add(users))
        case .removeParticipants(let id, let users): return .record(of: id, .remove(users))
        case .addAdmins(let id, let users): return .record(of: id, .promote(users))
        case .removeAdmins(let id, let users): return .record(of: id, .demote(users))
        case .leave(let id): return .record(of: id, .leave)
        case .deleteConversation(let id): return .deleteConversation(id)
        case .markRead(let id, let seq): return .markRead(id, seq: seq)
        }
    }
}

extension Caller {
    /// The user who asks; nil for the server API.
    package var userID: String? { if case .user(let user) = self { user } else { nil } }
}
