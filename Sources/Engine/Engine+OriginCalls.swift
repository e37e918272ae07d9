import Chat
import Ports
import Wire

/// Calls about a log that lives elsewhere which go to the origin as they are: lists, records and
/// participants. While it is away they are answered with what is known here.
extension Engine {
    func askOrigin(_ call: Call, _ user: String) {
        guard isLinked || !hasGivenTime else {
            return answer(call, 0, .failure(.originUnavailable))
        }
        switch call.request {
        case .subscribeConversations(let since, let limit):
            ask(.call(call), .conversationsSince(user: user, token: since, limit: limit), 0)
        case .fetchConversations(let limit, let cursor):
            ask(.call(call), .conversations(user: user, limit: limit, cursor: cursor), 0)
        case .fetchConversation(let conversation):
            var call = call
            if let stream = streams[conversation.id], let replica = stream.replica {
                call.era = replica.era
                stream.readership.expect(user.id)
            }
            ask(.call(call), .conversation(conversation, reader: user), 0)
        case .fetchParticipants(let conversation, let range):
            ask(.call(call), .participants(conversation: conversation, range), 0)
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages,
            .unsubscribeConversations, .fetchMessages, .findBoundaries, .sendMessage, .editMessage,
            .deleteMessage, .createConversation, .updateConversation, .deleteConversation,
            .leaveConversation, .addParticipants, .removeParticipants, .addAdmins, .removeAdmins,
            .markRead, .typing:
            answer(call, 0, .failure(.misled))
        }
    }

    /// The origin's answer to a call.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    func answer(
        _ call: Call, _ generation: Int, _ result: Result<HistoryAnswer, RequestError>
    ) {
        let user = sessions[call.session]?.user?.id
        switch (result, call.request) {
        case (.failure(let error), _):
            if error.isOfOriginAway, answerAsKnown(call) { return }
            if call.beginsList, let session = sessions[call.session] { unwatchList(session) }
            fail(call, error)
        case (.success(.conversationsSince(let changes)), .subscribeConversations):
            if let user { lists.showed(changes.conversations, of: changes.total, to: user) }
            // Whoever is given what changed knows the others by the token.
            showed(changes.conversations, call, knowing: changes.complete ? changes.heads : [:])
            drop(allBut: changes.heads, call)
            conclude(call, .conversationsSince(changes))
        case (.success(.conversations(let list)), _):
            if let user { lists.showed(list.conversations, of: list.total, to: user) }
            showed(list.conversations, call)
            conclude(call, list)
        case (.success(.conversation(let view)), _):
            learn(view, call, generation)
            if let user { lists.showed([view], to: user) }
            if view.reader != nil { showed([view], call) }
            conclude(call, .view(view))
        case (.success(.participants(let list)), _):
            conclude(call, .participants(list))
        case (.success, _):
            fail(call, .misled)
        }
    }
}
