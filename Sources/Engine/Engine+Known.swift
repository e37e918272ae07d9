import Chat
import JSON
import Ports
import Wire

/// What is answered about a log that lives elsewhere while the origin is away: what this gateway
/// has read whole and followed since, as of where its stream stands, and as open. What it can't
/// vouch for it does not answer.
extension Engine {
    /// What the origin says of how the caller reads, where the feed tells of all that follows.
    func learn(_ view: ConversationView, _ call: Call, _ generation: Int) {
        guard let user = sessions[call.session]?.user,
            let replica = streams[view.record.id.id]?.replica,
            replica.isFollowed(in: generation, since: call.era)
        else { return }
        lists.learn(view, of: user.id)
    }

    /// Answers a call for which the origin has no answer.
    /// - Returns: false if it is not known here, or not all of it.
    func answerAsKnown(_ call: Call) -> Bool {
        guard let user = sessions[call.session]?.user else { return false }
        if case .fetchConversation(let conversation) = call.request {
            return answerAsKnown(call, conversation, user.id)
        }
        if case .fetchConversations(let limit, let text) = call.request {
            let bytes = limits.replyBytes
            guard let list = lists.page(of: user.id, limit, behind: text, bytes: bytes) else {
                return false
            }
            showed(list.conversations, call)
            conclude(call, list, isOpen: true)
            return true
        }
        if case .subscribeConversations(let since, let limit) = call.request {
            guard let known = lists.known(to: user.id) else { return false }
            let changes = known.changes(since: since, limit: limit, bytes: limits.replyBytes)
            // Whoever is given what changed knows the others by the token.
            showed(changes.conversations, call, knowing: changes.complete ? changes.heads : [:])
            conclude(call, changes, isOpen: true)
            return true
        }
        return false
    }

    private func answerAsKnown(_ call: Call, _ conversation: String, _ user: ID) -> Bool {
        guard let stream = streams[conversation.id], let view = stream.known(to: user),
            lists[user]?.gone.contains(conversation.id) != true
        else { return false }
        // Those who watch have it closed when there is nothing more that nobody here knows.
        if stream.isOpen { stream.outgoing.noteOpen() }
        reply(call, people: view.record.participants.count) {
            $0.beginObject()
            $0.key("conversation")
            $0.view(view)
            $0.open(true)
            $0.endObject()
        }
        return true
    }
}

extension Replica {
    /// Whether what the origin answered in this generation of the feed, to a question of that era,
    /// is followed from then on.
    fileprivate func isFollowed(in generation: Int, since era: Int) -> Bool {
        generation == self.generation && era == self.era
    }
}

extension RequestError {
    /// The origin does not answer, and not because a part of the log is damaged.
    var isOfOriginAway: Bool { code == .originUnavailable && damagedPart == nil }
}
