import Chat
import Ports
import Wire

/// Which message lists show as a conversation's last one, after the last one was deleted.
extension Sync {
    /// The store has the conversation's last message at least as new as the stream's. What was read
    /// before a change that the stream has taken since is asked for once more, by `announce`.
    func refreshed(_ conversation: String, _ result: Result<Answer, RequestError>) {
        guard let stream = streams[conversation.id] else { return }
        stream.isAskingLast = false
        guard stream.needsLast, let head = stream.state?.position,
            case .success(.loaded(let loaded)) = result, loaded.head.epoch == head.epoch
        else { return }
        guard stream.holds(last: loaded.lastMessage) else { return askOriginForLast(stream) }
        if loaded.head.rev >= head.rev {
            stream.needsLast = false
            stream.state?.last = loaded.lastMessage
        }
        emit(.list(stream))
    }

    /// The last message was deleted: which is the last one now?
    func askLast(_ stream: Stream) {
        guard !stream.isAskingLast else { return }
        if stream.replica?.copy.isDetached == true { return askOriginForLast(stream) }
        stream.isAskingLast = true
        read(.load(conversation: stream.id), for: .refresh(stream.id))
    }

    private func askOriginForLast(_ stream: Stream) {
        watch(stream)
        guard stream.replica?.isConfirmed == true, !isUnavailable(stream) else { return }
        stream.isAskingLast = true
        ask(.last(FetchQueue.Subject(stream)), .conversation(stream.id), rank(of: stream))
    }

    /// What the origin says.
    func took(last view: ConversationView, _ stream: Stream) {
        guard stream.needsLast, let state = stream.state else { return }
        guard view.head.epoch == state.head.epoch else { return doubt(stream) }
        if view.head.rev >= state.position.rev {
            // Whoever was removed before it was sent is not shown it.
            learnMembers(view.record, asOf: view.head, stream)
            takePostponed(stream)
            expect(view.head.rev, stream)
            stream.needsLast = false
            stream.state?.last = view.lastMessage
        }
        emit(.list(stream))
    }
}
