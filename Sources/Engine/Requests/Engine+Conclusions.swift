import Chat
import JSON
import Ports
import Wire

/// Calls about lists, and how answers that stand for themselves become replies.
extension Engine {
    /// A call about the caller's list, or about what only the origin of a log elsewhere knows.
    func performList(_ call: Call, _ user: String) {
        guard let session = sessions[call.session], !session.isClosing else { return }
        var call = call
        switch call.request {
        case .subscribeConversations(let since, let limit):
            // Watching begins before the store is read: what changes in between comes twice rather
            // than never, and a value is a value.
            call.beginsList = !session.watchesConversations
            watchList(session, user)
            if mirrors { return askOrigin(call, user) }
            let unread = session.asksUnread
            desk.ask(
                .conversationsSince(user: user, token: since, limit: limit, unread: unread), call)
        case .unsubscribeConversations:
            session.heldListEvents = []
            unwatchList(session)
            reply(call) { $0.emptyObject() }
        case .fetchConversations(let limit, let cursor):
            if mirrors { return askOrigin(call, user) }
            let unread = session.asksUnread
            desk.ask(
                .conversations(user: user, limit: limit, cursor: cursor, unread: unread), call)
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages, .fetchConversation,
            .fetchMessages, .fetchParticipants, .findBoundaries, .sendMessage, .editMessage,
            .deleteMessage, .createConversation, .updateConversation, .addParticipants,
            .removeParticipants, .addAdmins, .removeAdmins, .deleteConversation,
            .leaveConversation, .markRead, .typing:
            askOrigin(call, user)
        }
    }

    /// Answers that stand for themselves.
    func conclude(_ call: Call, _ answer: Answer) {
        switch answer {
        case .view(let view):
            guard view.reader != nil else { return fail(call, .noConversation) }
            reply(call, people: view.record.participants.count) {
                $0.beginObject()
                $0.key("conversation")
                $0.view(view)
                $0.endObject()
            }
        case .conversations(let list):
            conclude(call, list)
        case .conversationsSince(let changes):
            conclude(call, changes)
        case .participants(let list):
            guard case .fetchParticipants(_, let range) = call.request else { return }
            reply(call, rows: list.participants.count) { $0.participants(list, range) }
        case .ids, .loaded, .page, .catchUp, .place, .confirmation, .listed:
            fail(call, .misled)
        }
    }

    /// A part of a list.
    /// - Parameter isOpen: the origin did not answer.
    func conclude(_ call: Call, _ list: ConversationList, isOpen: Bool = false) {
        let unread = unread(list.unread, isOpen, call)
        reply(call, rows: list.conversations.count + rowsCounted(unread, list.total)) {
            $0.conversations(list, unread, isOpen: isOpen)
        }
    }

    /// What changed in a list.
    func conclude(_ call: Call, _ changes: ConversationChanges, isOpen: Bool = false) {
        let rows = changes.conversations.count + changes.removed.count
        let unread = unread(changes.unread, isOpen, call)
        reply(call, rows: rows + rowsCounted(unread, changes.total)) {
            $0.conversations(changes, unread, isOpen: isOpen)
        }
    }

    /// What the answer says of what is unread: nothing, but to those who asked for it.
    private func unread(_ total: UnreadTotal?, _ isOpen: Bool, _ call: Call) -> UnreadTotal? {
        guard let session = sessions[call.session], session.asksUnread, let total else {
            return nil
        }
        toldUnread(total, isOpen: isOpen, session)
        return total
    }

    /// To count what is unread looks at each conversation, which is less than to read it.
    private func rowsCounted(_ unread: UnreadTotal?, _ total: Int) -> Int {
        unread == nil ? 0 : total / 10
    }
}
