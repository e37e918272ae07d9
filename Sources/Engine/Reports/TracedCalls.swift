import Wire

/// The end of a call with a `traceparent`, for the log.
package struct TracedCall: Sendable, Hashable {
    package var trace: String
    package var method: Method
    package var conversation: String?
    package var user: String
    /// Nil if it succeeded.
    package var error: RequestError?

    /// Limit of ends that wait to be logged; further ones are dropped.
    static let limit = 1000
}

extension TracedCall {
    /// - Parameter error: nil if it succeeded.
    init(_ request: Request, of session: Session, _ error: RequestError?) {
        trace = session.trace
        method = request.row.method
        conversation = request.writtenConversation ?? request.conversation
        user = session.user ?? ""
        self.error = error
    }
}

extension Request {
    /// The conversation that the request would change.
    fileprivate var writtenConversation: String? {
        switch self {
        case .sendMessage(let id, _), .editMessage(let id, _, _), .deleteMessage(let id, _, _),
            .updateConversation(let id, _), .addParticipants(let id, _),
            .removeParticipants(let id, _), .addAdmins(let id, _), .removeAdmins(let id, _),
            .deleteConversation(let id), .leaveConversation(let id), .markRead(let id, _):
            id
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages, .subscribeConversations,
            .unsubscribeConversations, .fetchConversations, .fetchConversation, .fetchMessages,
            .fetchParticipants, .findBoundaries, .createConversation, .typing:
            nil
        }
    }
}
