import Chat
import JSON
import Ports
import Wire

/// What the store and the upstream answer, and how it becomes replies.
///
/// A reply about messages stands at the stream's position, so that the next event continues exactly
/// from there. The store is read at a moment of its own: it may be ahead of the stream, whose
/// changes of that moment are on their way; then the answer is parked until the stream has reached
/// it.
extension Engine {
    /// The store answered a read.
    package func answered(
        _ token: UInt64, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        switch pending.removeValue(forKey: token) {
        case .load(let conversation):
            loaded(conversation, result)
        case .refresh(let conversation):
            refreshed(conversation, result)
        case .answer(let call):
            switch result {
            case .failure(let error): fail(call, error)
            case .success(let answer): settle(token, call, answer)
            }
        case .boundaries(let call, let head):
            switch result {
            case .failure(let error): fail(call, error)
            case .success(.ids(let ids)): concludeBoundaries(call, ids, askedAt: head)
            case .success: fail(call, .misled)
            }
        case .reload(let stream, let beginning):
            reloaded(stream, beginning, result)
        case .shown(let call):
            showed(call, result)
        case .place(let call, let id, let field):
            placed(call, id, field, result)
        case .proof(let subject, let claim):
            confirmed(subject, claim, result)
        case .unread(let user, let reading):
            readUnread(user, reading, result)
        case .write, .store, .fetch, nil:
            break
        }
    }

    /// The upstream did a write, or refused it.
    package func performed(
        _ token: UInt64, _ result: Result<Outcome, RequestError>, at now: Timestamp
    ) {
        self.now = now
        noteSent(token: token, result)
        guard case .write(var call) = pending.removeValue(forKey: token) else { return }
        call.isJournaled = true
        switch result {
        case .failure(let error): fail(call, error)
        case .success(let outcome):
            if let session = sessions[call.session] { noteTraced(call.request, session) }
            if holdsReply(call, outcome) { return }
            reply(call, people: outcome.people) { $0.outcome(outcome, of: call.request) }
        }
    }

    private func loaded(_ conversation: String, _ result: Result<Answer, RequestError>) {
        guard let stream = streams[conversation.id] else { return }
        if stream.replica != nil { return found(stream, result) }
        let waiting = stream.waiting
        stream.waiting = []
        switch result {
        case .success(.loaded(let loaded)):
            stream.state = Stream.State(
                head: loaded.head, position: loaded.head, record: loaded.record,
                members: Set(loaded.record.participants.map(\.id)),
                last: loaded.lastMessage, firstToken: nextToken + 1)
            stream.told = loaded.head.rev
            if stream.isToBeAnnounced {
                stream.isToBeAnnounced = false
                list(stream)
            }
            takeEarly(stream)
            for call in waiting { perform(call) }
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

    /// What the cache has of a log that lives elsewhere.
    private func found(_ stream: Stream, _ result: Result<Answer, RequestError>) {
        guard stream.replica?.noteLoaded() == true else { return }
        if stream.state == nil, case .success(.loaded(let loaded)) = result,
            let cached = loaded.cached
        {
            stream.state = Stream.State(
                head: cached.seen ?? loaded.head, position: loaded.head, record: loaded.record,
                members: Set(loaded.record.participants.map(\.id)),
                last: loaded.lastMessage, firstToken: nextToken + 1)
            stream.told = loaded.head.rev
            stream.replica?.adopt(cached, upTo: max(loaded.head.rev, loaded.record.rev))
            stream.needsLast = !stream.holds(last: loaded.lastMessage)
            takeEarly(stream)
        }
        if stream.isToBeAnnounced {
            stream.isToBeAnnounced = false
            list(stream)
        }
        watch(stream)
        drive(stream)
        wake(stream)
    }

    /// Answers the call, or parks the answer until the stream is where the store was read.
    private func settle(_ token: UInt64, _ call: Call, _ answer: Answer) {
        guard let conversation = call.request.conversation, let head = answer.head else {
            return conclude(call, answer)
        }
        guard let (stream, state) = admit(call, conversation) else { return }
        if stream.replica?.copy.isDetached == true { return fail(call, .noCache) }
        if state.head.epoch == head.epoch, head.rev == state.position.rev,
            stream.replica.map({ token > $0.copy.lastChange }) ?? true
        {
            flush(stream)
            conclude(call, answer, stream, state)
        } else if stream.replica != nil
            || (state.head.epoch == head.epoch
                ? head.rev < state.position.rev : token < state.firstToken)
        {
            // Read before a change that the stream has taken since, or of the log before this one.
            perform(call.overtaken)
        } else {
            pending[token] = .answer(call)
            stream.parked.append((token, answer))
        }
    }

    /// The stream has moved: answers that were ahead of it may be due.
    func settleParked(_ stream: Stream) {
        guard !stream.parked.isEmpty, let head = stream.state?.position else { return }
        let due = stream.parked.filter { $0.answer.head.map { $0.rev <= head.rev } ?? true }
        stream.parked.removeAll { $0.answer.head.map { $0.rev <= head.rev } ?? true }
        for (token, answer) in due {
            guard case .answer(let call) = pending.removeValue(forKey: token) else { continue }
            settle(token, call, answer)
        }
    }

    /// The log behind the stream is another one now, or gone: whoever waits asks again.
    func performParked(_ stream: Stream) {
        let parked = stream.parked
        stream.parked = []
        for (token, _) in parked {
            if case .answer(let call) = pending.removeValue(forKey: token) { perform(call) }
        }
    }
}

extension Answer {
    /// Where the log stood when it was read, for answers that are bound to the stream's position.
    var head: Head? {
        switch self {
        case .page(let page): page.head
        case .catchUp(let read): read.head
        case .loaded, .view, .ids, .conversations, .conversationsSince, .participants, .listed,
            .place, .confirmation:
            nil
        }
    }
}

extension Request {
    /// The conversation whose stream the answer is bound to.
    var conversation: String? {
        switch self {
        case .subscribeMessages(let conversation, _, _), .fetchMessages(let conversation, _):
            conversation
        case .connect, .refresh, .unsubscribeMessages, .subscribeConversations,
            .unsubscribeConversations, .fetchConversations, .fetchConversation,
            .fetchParticipants, .findBoundaries, .sendMessage, .editMessage, .deleteMessage,
            .createConversation, .updateConversation, .addParticipants, .removeParticipants,
            .addAdmins, .removeAdmins, .deleteConversation, .leaveConversation, .markRead, .typing:
            nil
        }
    }

    /// Whether the answer shows conversations as they are in the list of those who take part.
    var showsConversations: Bool {
        switch row.method {
        case .subscribeConversations, .fetchConversations, .fetchConversation: true
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages,
            .unsubscribeConversations, .fetchMessages, .fetchParticipants, .findBoundaries,
            .sendMessage, .editMessage, .deleteMessage, .createConversation, .updateConversation,
            .deleteConversation, .leaveConversation, .addParticipants, .removeParticipants,
            .addAdmins, .removeAdmins, .markRead, .typing:
            false
        }
    }

    /// Whether the method answers in two phases: `protocol.md` 3, ②.
    var isTwoPhase: Bool { row.kind == .twoPhaseRead }
}

extension Outcome {
    /// Who were looked at for it: a change of slot 0 is about all who take part.
    fileprivate var people: Int {
        if case .conversation(let view, _) = self { view.record.participants.count } else { 0 }
    }
}
