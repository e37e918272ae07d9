import JSON
import Wire

/// What a write is refused with, each sentence once. Those of limits, `ifRev` and `clients.*`
/// stand with their values.
extension RequestError {
    package static let idTaken = RequestError(
        .messageIDTaken, "id: taken by another message of this conversation")
    /// The caller takes part in that conversation, and so may know that the id is taken.
    package static let conversationTaken = RequestError(
        .conversationIDTaken, "id: taken by another conversation")
    /// The caller does not take part in the conversation with this id.
    package static let conversationOfOthers = RequestError(
        .conversationIDOfOthers, "id: taken by a conversation of others")
    static let othersAuthor = RequestError(.authorNotSelf, "author: only oneself")
    static let editsOthers = RequestError(.notAuthor, "id: only its author may edit a message")
    static let deletesOthers = RequestError(
        .notAuthor, "id: only its author or an admin may delete a message")
    /// The origin is shared with gateways of an earlier version, as far as anybody said.
    package static let notEnabled = RequestError(
        .notEnabled, "the origin is not enabled for it (accepted: after `gapless enable 1.2`)")
    static let reactsForOthers = RequestError(
        .authorNotSelf, "user: another user (accepted with on: true: only oneself)")
    static let strangersCannotReact = RequestError(
        .notParticipant, "user: not a participant (accepted: those who take part)")
    static let strangersCannotRule = RequestError(
        .notParticipant,
        "admins: not a participant (accepted: those who take part in the conversation)")
    package static let adminsMentionAll = RequestError(
        .notAdmin,
        "mentionAll: only the conversation's admins may mention everybody"
            + " (clients.mention_all: admins)")
    static let adminsOnly = RequestError(.notAdmin, "conversation: only its admins may do this")
    static let adminsDelete = RequestError(
        .notAdmin, "conversation: only its admins may delete it")
    static let serverPuts = RequestError(
        .serverOnly, "conversation: only the server API may put one")
    package static let needsUser = RequestError(
        .userNeeded,
        "user: missing (accepted: a call of a user, the server API has no place in a conversation)")

    /// A conflict with what is there.
    /// - Parameter current: writes the value as it is.
    static func conflict(
        _ reason: Reason, _ text: String, current: (inout JSONWriter) -> Void
    ) -> RequestError {
        var json = JSONWriter()
        json.beginObject()
        current(&json)
        json.endObject()
        return RequestError(reason, text, current: RawJSON(unchecked: json.bytes))
    }

    /// A read marker lies beyond the log.
    package static func beyondLog(_ seq: Int, head: Int) -> RequestError {
        .invalid("seq: \(seq) is out of range (0…\(head))")
    }
}
