import JSON
import Ports
import Wire

/// Who may change what, and conditional changes: only if the value is the one that the caller has
/// seen.
extension EncodedMessage {
    /// Whether the caller may edit it; nil: the server API.
    package func checkEdit(by user: String?, ifRev: Int?) throws(RequestError) {
        if let user, !user.isSameID(author) {
            throw RequestError(.notAuthor, "id: only its author may edit a message")
        }
        if isDeleted { throw refusedAsDeleted(ifRev: ifRev) }
    }

    /// Whether the caller may delete it; nil: the server API.
    /// - Returns: whether it is there to be deleted.
    package func checkDeletion(
        by user: String?, isAdmin: Bool, ifRev: Int?
    ) throws(RequestError) -> Bool {
        guard user?.isSameID(author) ?? true || isAdmin else {
            throw RequestError(.notAuthor, "id: only its author or an admin may delete a message")
        }
        if isDeleted { return false }
        try check(ifRev: ifRev)
        return true
    }

    /// Whether a change is allowed.
    /// - Parameter ifRev: the `rev` that the caller has seen; nil: any.
    /// - Throws: `conflict`, with the message as it is.
    package func check(ifRev: Int?) throws(RequestError) {
        guard let ifRev, ifRev != rev else { return }
        throw conflict(.revChanged, "ifRev: \(ifRev), but the message has rev \(rev)")
    }

    /// The error for an edit of a tombstone.
    /// - Parameter ifRev: if given, the error includes the tombstone.
    private func refusedAsDeleted(ifRev: Int?) -> RequestError {
        let text = "id: the message is deleted"
        return ifRev == nil ? RequestError(.messageDeleted, text) : conflict(.messageDeleted, text)
    }

    private func conflict(_ reason: RequestError.Reason, _ text: String) -> RequestError {
        var current = JSONWriter(capacity: json.count + 16)
        current.beginObject()
        current.member("message", raw: RawJSON(unchecked: json))
        current.endObject()
        return RequestError(reason, text, current: RawJSON(unchecked: current.bytes))
    }
}

extension ConversationView {
    /// Whether a change of slot 0 is allowed.
    /// - Parameter ifRev: the `rev` that the caller has seen; nil: any.
    /// - Throws: `conflict`, with the conversation as it is.
    package func check(ifRev: Int?) throws(RequestError) {
        guard let ifRev, ifRev != record.rev else { return }
        var current = JSONWriter()
        current.beginObject()
        current.key("conversation")
        current.conversation(record, lastMessage: lastMessage, head: head, reader: reader)
        current.endObject()
        throw RequestError(
            .revChanged, "ifRev: \(ifRev), but the conversation has rev \(record.rev)",
            current: RawJSON(unchecked: current.bytes))
    }
}
