import Ports
import Wire

/// What every log holds the writes of a user to, whoever keeps it.
extension [NewMessage] {
    /// Why they can't be sent; nil if they can.
    /// - Parameter user: who asks; nil is the server API, which speaks for everybody.
    package func refusal(ofSendingBy user: String?) -> RequestError? {
        guard !isEmpty else {
            return .badRequest("messages: empty (accepted: at least one message)")
        }
        guard let user, !allSatisfy({ $0.author.isSameID(user) }) else { return nil }
        return RequestError(.forbidden, "author: only oneself")
    }
}

extension ConversationFields {
    /// With who creates the conversation as its first participant and admin; nil is the server API,
    /// which takes no part.
    package func created(by user: String?) -> ConversationFields {
        guard let user else { return self }
        var fields = self
        fields.participants = [user] + (participants ?? [])
        fields.admins = [user] + (admins ?? [])
        return fields
    }
}
