import Chat
import Ports
import Wire

/// What the store and the upstream answer, and who waits for it.
extension Engine {
    /// The store answered a read.
    package func answered(
        _ token: UInt64, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        switch questions.close(token) {
        case .load(let conversation):
            loaded(conversation, result)
        case .refresh(let conversation):
            sync.refreshed(conversation, result)
        case .answer(let call):
            desk.answered(token, call, result)
        case .boundaries(let call, let head):
            desk.answered(call, askedAt: head, result)
        case .reload(let stream, let beginning):
            sync.reloaded(stream, beginning, result)
        case .shown(let call):
            desk.showed(call, result)
        case .place(let call, let id, let field):
            desk.placed(call, id, field, result)
        case .proof(let subject, let claim):
            sync.confirmed(subject, claim, result)
        case .unread(let user, let reading):
            readUnread(user, reading, result)
        case .write, .store, .fetch, nil:
            break
        }
        takeSteps()
    }

    /// The upstream did a write, or refused it.
    package func performed(
        _ token: UInt64, _ result: Result<Outcome, RequestError>, at now: Timestamp
    ) {
        self.now = now
        noteSent(token: token, result)
        if case .write(let call) = questions.close(token) {
            if case .success(let outcome) = result, let user = sessions[call.session]?.user {
                lists.wrote(outcome, call.request, by: user.id)
            }
            desk.performed(call, result)
        }
        takeSteps()
    }

    private func loaded(_ conversation: String, _ result: Result<Answer, RequestError>) {
        guard let stream = streams[conversation.id] else { return }
        if stream.replica != nil { return sync.found(stream, result) }
        let waiting = stream.waiting
        stream.waiting = []
        switch result {
        case .success(.loaded(let loaded)):
            stream.begin(loaded, after: questions.last)
            if stream.isToBeAnnounced {
                stream.isToBeAnnounced = false
                list(stream)
            }
            takeEarly(stream)
            for call in waiting { desk.perform(call) }
        case .success:
            streams[conversation.id] = nil
            for call in waiting { fail(call, .misled) }
        case .failure(let error):
            if stream.early.contains(where: \.isBeginning) {
                // It was created after the store was read.
                stream.early = []
                stream.waiting = waiting
                return read(.load(conversation: conversation), for: .load(conversation))
            }
            streams[conversation.id] = nil
            for call in waiting { fail(call, error) }
        }
    }
}
