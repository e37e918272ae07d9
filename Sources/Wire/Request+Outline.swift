/// What is told of a request that was refused: in the journal, and in the log.
extension Request {
    /// What a request is about, without what it says.
    package struct Outline: Sendable, Hashable {
        package var method: Method
        /// As `Row` has it.
        package var conversation: String?
        /// The id of the message that it sends, edits or deletes.
        package var message: String?

        fileprivate init(_ method: Method, in conversation: String?, message: String?) {
            self.method = method
            self.conversation = conversation
            self.message = message
        }

        /// That of params that are not decoded, and may be such that no request can be.
        init(_ method: Method, _ params: Fields) {
            switch method {
            case .sendMessage, .editMessage, .deleteMessage:
                self.init(
                    method, in: try? params.id("conversation"), message: try? params.id("id"))
            case .subscribeMessages, .unsubscribeMessages, .fetchConversation, .fetchMessages,
                .fetchParticipants, .findBoundaries, .updateConversation, .deleteConversation,
                .leaveConversation, .addParticipants, .removeParticipants, .addAdmins,
                .removeAdmins, .markRead, .typing:
                self.init(method, in: try? params.id("conversation"), message: nil)
            case .connect, .refresh, .subscribeConversations, .unsubscribeConversations,
                .fetchConversations, .createConversation:
                self.init(method, in: nil, message: nil)
            }
        }
    }

    package var outline: Outline {
        let row = row
        return Outline(row.method, in: row.conversation, message: message)
    }

    private var message: String? {
        switch self {
        case .sendMessage(_, let content): content.id
        case .editMessage(_, let id, _), .deleteMessage(_, let id, _): id
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages, .subscribeConversations,
            .unsubscribeConversations, .fetchConversations, .fetchConversation, .fetchMessages,
            .fetchParticipants, .findBoundaries, .createConversation, .updateConversation,
            .addParticipants, .removeParticipants, .addAdmins, .removeAdmins, .deleteConversation,
            .leaveConversation, .markRead, .typing:
            nil
        }
    }
}
