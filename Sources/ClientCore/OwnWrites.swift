import Chat
import JSON
import Wire

/// The newest change of one's own in each conversation, as the gateway acknowledged it. Each
/// question about the conversation names it, whatever gateway it goes to: an answer then has that
/// change, or says that it is open, or that the log has lost it.
struct OwnWrites: Sendable {
    private var heads: [ID: Head] = [:]

    /// The params of a request, with the change that its answer must not miss.
    func named(_ method: Method?, _ params: RequestParams) -> RequestParams {
        guard method?.readsLog == true, let id = params.conversation, let head = heads[id] else {
            return params
        }
        var params = params
        params.set("atLeast", change: head)
        return params
    }

    /// Notes the final answer to a request.
    /// - Parameter params: as they were sent.
    mutating func note(
        _ method: Method?, _ params: RequestParams, _ answer: JSONObject
    ) throws(FrameError) {
        if let named = params["atLeast"]?.object, answer["reset"]?.bool == true,
            let id = params.conversation, heads[id]?.mark == named["mark"]?.string
        {
            // The log has lost it.
            heads[id] = nil
        }
        guard method?.writesLog == true else { return }
        let record = answer["conversation"]?.object
        let isBeside = answer["head"] != nil
        guard let id = params.conversation ?? record?["id"]?.string?.id,
            let object = isBeside ? answer : record, object["head"] != nil
        else { return }
        let head = try object.head("head")
        if let known = heads[id], known.epoch == head.epoch, known.rev > head.rev { return }
        heads[id] = head
    }

    /// The log of this epoch is another one now, or gone.
    mutating func forget(_ conversation: ID, of epoch: String?) {
        if heads[conversation]?.epoch == epoch { heads[conversation] = nil }
    }

    /// Somebody else is here.
    mutating func forgetAll() { heads = [:] }
}

extension Method {
    /// Whether the answer says how a conversation is.
    fileprivate var readsLog: Bool {
        switch self {
        case .subscribeMessages, .fetchMessages, .fetchConversation, .fetchParticipants: true
        case .connect, .refresh, .unsubscribeMessages, .subscribeConversations,
            .unsubscribeConversations, .fetchConversations, .findBoundaries, .sendMessage,
            .editMessage, .deleteMessage, .react, .fetchReactions, .fetchOwnReactions,
            .fetchMentions, .createConversation, .updateConversation, .addParticipants,
            .removeParticipants, .addAdmins, .removeAdmins, .deleteConversation,
            .leaveConversation, .markRead, .typing, .setPresence, .watchPresence:
            false
        }
    }

    /// Whether the answer says where the log is that has the change.
    fileprivate var writesLog: Bool {
        switch self {
        case .sendMessage, .editMessage, .deleteMessage, .react, .createConversation,
            .updateConversation, .addParticipants, .removeParticipants, .addAdmins, .removeAdmins:
            true
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages, .subscribeConversations,
            .unsubscribeConversations, .fetchConversations, .fetchConversation, .fetchMessages,
            .fetchParticipants, .findBoundaries, .fetchReactions, .fetchOwnReactions,
            .fetchMentions, .deleteConversation, .leaveConversation, .markRead, .typing,
            .setPresence, .watchPresence:
            false
        }
    }
}
