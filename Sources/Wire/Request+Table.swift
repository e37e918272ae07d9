import Chat

/// What is known of each method beside its params: the other columns of the table of
/// `protocol.md` 3. Whoever adds a method gives it a row here and in `Request+Decode.swift`, or the
/// program does not compile.
extension Request {
    /// What is done for a request, which decides by which way it is answered.
    package enum Kind: Sendable, Hashable {
        /// It is about the connection itself.
        case session
        /// It begins or ends what a connection is told of.
        case subscription
        /// It reads, and may be answered twice: from the cache first (`protocol.md` 3, ②).
        case twoPhaseRead
        /// It reads, and is answered once.
        case read
        /// It asks the origin for a change.
        case write
        /// It is told to others, and kept nowhere.
        case signal
    }

    /// One row of the table.
    package struct Row: Sendable, Hashable {
        package var method: Method
        package var kind: Kind
        /// The conversation that it is about; nil where it is about none, or about one that there
        /// may not be yet.
        package var conversation: String?
        /// How many messages or conversations are asked for; 0 where none are.
        package var limit: Int
        /// What the client says that it holds.
        package var have: Have?

        fileprivate init(
            _ method: Method, _ kind: Kind, in conversation: String? = nil, limit: Int = 0,
            have: Have? = nil
        ) {
            self.method = method
            self.kind = kind
            self.conversation = conversation
            self.limit = limit
            self.have = have
        }
    }

    /// The row of this request.
    package var row: Row {
        switch self {
        case .connect: Row(.connect, .session)
        case .refresh: Row(.refresh, .session)
        case .subscribeMessages(let id, let have, let limit):
            Row(.subscribeMessages, .subscription, in: id, limit: limit, have: have)
        case .unsubscribeMessages(let id): Row(.unsubscribeMessages, .subscription, in: id)
        case .subscribeConversations(_, let limit):
            Row(.subscribeConversations, .subscription, limit: limit)
        case .unsubscribeConversations: Row(.unsubscribeConversations, .subscription)
        case .fetchConversations(let limit, _):
            Row(.fetchConversations, .twoPhaseRead, limit: limit)
        case .fetchConversation(let id): Row(.fetchConversation, .twoPhaseRead, in: id)
        case .fetchMessages(let id, let page):
            Row(.fetchMessages, .twoPhaseRead, in: id, limit: page.limit)
        case .fetchParticipants(let id, _): Row(.fetchParticipants, .twoPhaseRead, in: id)
        case .findBoundaries(let id, let have): Row(.findBoundaries, .read, in: id, have: have)
        case .sendMessage(let id, _): Row(.sendMessage, .write, in: id)
        case .editMessage(let id, _, _): Row(.editMessage, .write, in: id)
        case .deleteMessage(let id, _, _): Row(.deleteMessage, .write, in: id)
        case .createConversation: Row(.createConversation, .write)
        case .updateConversation(let id, _): Row(.updateConversation, .write, in: id)
        case .deleteConversation(let id): Row(.deleteConversation, .write, in: id)
        case .leaveConversation(let id): Row(.leaveConversation, .write, in: id)
        case .addParticipants(let id, _): Row(.addParticipants, .write, in: id)
        case .removeParticipants(let id, _): Row(.removeParticipants, .write, in: id)
        case .addAdmins(let id, _): Row(.addAdmins, .write, in: id)
        case .removeAdmins(let id, _): Row(.removeAdmins, .write, in: id)
        case .markRead(let id, _): Row(.markRead, .write, in: id)
        case .typing(let id, _): Row(.typing, .signal, in: id)
        }
    }
}
