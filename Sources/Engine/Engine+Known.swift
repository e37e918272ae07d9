import Chat
import JSON
import Ports
import Wire

/// What is answered about a log that lives elsewhere while the origin is away: what this gateway
/// has read whole and followed since, as of where its stream stands, and as open. What it can't
/// vouch for it does not answer.
extension Engine {
    // MARK: - Learning

    /// What the origin says of how the caller reads, where the feed tells of all that follows.
    func learn(_ view: ConversationView, _ call: Call, _ generation: Int) {
        guard let reader = view.reader, let user = sessions[call.session]?.user,
            let stream = streams[view.record.id.id], let state = stream.state,
            let replica = stream.replica, replica.isFollowed(in: generation, since: call.era),
            // Whoever left and joined again since has another marker.
            view.head.rev >= state.record.rev
        else { return }
        stream.readership.adopt(reader, of: user.id, at: view.head, position: state.position)
    }

    // MARK: - Answering

    /// Answers a call for which the origin has no answer.
    /// - Returns: false if it is not known here, or not all of it.
    func answerAsKnown(_ call: Call) -> Bool {
        guard let user = sessions[call.session]?.user,
            case .fetchConversation(let conversation) = call.request,
            let stream = streams[conversation.id], let view = known(stream, to: user.id)
        else { return false }
        noteOpen(stream)
        reply(call, people: view.record.participants.count) {
            $0.beginObject()
            $0.key("conversation")
            $0.view(view)
            $0.open(true)
            $0.endObject()
        }
        return true
    }

    /// A conversation as of where its stream stands; nil if that is not known, or not of that one
    /// moment, or if the user does not take part then.
    private func known(_ stream: Stream, to user: ID) -> ConversationView? {
        guard let state = stream.state, state.isOfOneMoment, !stream.needsLast,
            state.members.contains(user),
            let reader = stream.readership.state(of: user, at: state.position)
        else { return nil }
        return ConversationView(
            record: state.record, lastMessage: state.last, head: state.head, reader: reader)
    }

    /// Those who watch have it closed when there is nothing more that nobody here knows.
    private func noteOpen(_ stream: Stream) {
        if stream.isOpen { stream.outgoing.noteOpen() }
    }
}

extension Stream.State {
    /// Nothing is known above the position.
    fileprivate var isOfOneMoment: Bool {
        head.epoch == position.epoch && head.rev == position.rev && record.rev <= position.rev
            && last?.rev ?? 0 <= position.rev
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
