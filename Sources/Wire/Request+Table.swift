import Chat

/// Each method's properties beside its params: the other columns of the table of `protocol.md` 3. A
/// new method needs a row here and in `Request+Decode.swift`, or the program does not compile.
extension Request {
    /// The kind of work for a request, which decides how it is answered.
    package enum Kind: Sendable, Hashable {
        /// Concerns the connection itself.
        case session
        /// Begins or ends a subscription.
        case subscription
        /// A read that may be answered twice: from the cache first (`protocol.md` 3, ②).
        case twoPhaseRead
        /// A read that is answered once.
        case read
        /// A change at the origin.
        case write
        /// Forwarded to others, and not stored.
        case signal
    }

    /// One row of the table.
    package struct Row: Sendable, Hashable {
        package var method: Method
        package var kind: Kind
        /// The conversation that the request concerns; nil if there is none, or if it may not exist
        /// yet.
        package var conversation: String?
        /// The number of messages or conversations requested; 0 for other requests.
        package var limit: Int
        /// The client's claim of what it holds.
        package var have: Have?
        /// The id of the message that it sends, edits, deletes or reacts to.
        package var message: String?
        /// Whether the answer says how a conversation is, so that `atLeast` may name a change that
        /// it must not miss.
        package var readsLog: Bool

        fileprivate init(
            _ method: Method, _ kind: Kind, in conversation: String? = nil, limit: Int = 0,
            have: Have? = nil, message: String? = nil, readsLog: Bool = false
        ) {
            self.method = method
            self.kind = kind
            self.conversation = conversation
            self.limit = limit
            self.have = have
            self.message = message
            self.readsLog = readsLog
        }
    }

    /// The row of this request.
    package var row: Row {
        switch self {
        case .connect: Row(.connect, .session)
        case .refresh: Row(.refresh, .session)
        case .subscribeMessages(let id, let have, let limit):
            Row(
                .subscribeMessages, .subscription, in: id, limit: limit, have: have,
                readsLog: true)
        case .unsubscribeMessages(let id): Row(.unsubscribeMessages, .subscription, in: id)
        case .subscribeConversations(_, let limit):
            Row(.subscribeConversations, .subscription, limit: limit)
        case .unsubscribeConversations: Row(.unsubscribeConversations, .subscription)
        case .fetchConversations(let limit, _):
            Row(.fetchConversations, .twoPhaseRead, limit: limit)
        case .fetchConversation(let id):
            Row(.fetchConversation, .twoPhaseRead, in: id, readsLog: true)
        case .fetchMessages(let id, let page):
            Row(.fetchMessages, .twoPhaseRead, in: id, limit: page.limit, readsLog: true)
        case .fetchParticipants(let id, _):
            Row(.fetchParticipants, .twoPhaseRead, in: id, readsLog: true)
        case .findBoundaries(let id, let have): Row(.findBoundaries, .read, in: id, have: have)
        case .sendMessage(let id, let content):
            Row(.sendMessage, .write, in: id, message: content.id)
        case .editMessage(let id, let message, _):
            Row(.editMessage, .write, in: id, message: message)
        case .deleteMessage(let id, let message, _):
            Row(.deleteMessage, .write, in: id, message: message)
        case .react(let id, let message, _, _, _): Row(.react, .write, in: id, message: message)
        case .fetchReactions(let id, _, let page):
            Row(.fetchReactions, .read, in: id, limit: page.limit)
        case .fetchOwnReactions(let id, _, _): Row(.fetchOwnReactions, .read, in: id)
        case .fetchMentions(let id, _, let limit):
            Row(.fetchMentions, .read, in: id, limit: limit)
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
        case .setPresence: Row(.setPresence, .signal)
        case .watchPresence: Row(.watchPresence, .subscription)
        }
    }
}
