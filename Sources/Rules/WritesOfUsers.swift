import Ports
import Wire

/// Rules for users' writes that every kind of log applies.
extension [NewMessage] {
    /// Why these messages can't be sent; nil if they can.
    /// - Parameter user: the caller; nil: the server API, which may send for any user.
    package func refusal(ofSendingBy user: String?) -> RequestError? {
        guard !isEmpty else {
            return .invalid("messages: empty (accepted: at least one message)")
        }
        guard let user, !allSatisfy({ $0.author.isSameID(user) }) else { return nil }
        return RequestError(.authorNotSelf, "author: only oneself")
    }
}

extension ConversationFields {
    /// Adds the creator as the first participant and admin; nil is the server API, which does not
    /// take part.
    package func created(by user: String?) -> ConversationFields {
        guard let user else { return self }
        var fields = self
        fields.participants = [user] + (participants ?? [])
        fields.admins = [user] + (admins ?? [])
        return fields
    }
}
