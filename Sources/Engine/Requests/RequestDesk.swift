import Chat
import JSON
import Ports
import Wire

/// What clients ask about conversations, from the call to its reply: who may, what is read and
/// written for it, what it waits for, and how the answer reads. Owned by the engine.
///
/// A reply about messages stands at the stream's position, so that the next event continues exactly
/// from there. The store is read at a moment of its own: it may be ahead of the stream, whose
/// changes of that moment are on their way; then the answer is parked until the stream has reached
/// it.
///
/// It knows no lists: calls about those, and answers that show them, come out as steps, in order,
/// which the engine takes.
final class RequestDesk {
    /// What the rest of the engine is to do.
    enum Step {
        /// A call about the caller's list, or about what only the origin of a log elsewhere knows.
        case call(Call, user: String)
        /// The store has answered one that stands for itself.
        case answer(Call, Answer)
    }

    let streams: StreamRegistry
    let questions: Questions
    let fanout: Fanout
    let tally: Tally
    let connections: Connections
    let sync: Sync
    private var steps: [Step] = []

    init(_ connections: Connections, _ sync: Sync) {
        self.connections = connections
        self.sync = sync
        streams = sync.streams
        questions = sync.questions
        fanout = sync.fanout
        tally = sync.tally
    }

    var now: Timestamp { sync.now }
    var journal: Journal? { connections.journal }
    var limits: Limits { _read { yield connections.limits } }

    /// Whether the streams follow logs that live elsewhere.
    var mirrors: Bool { sync.mirrors }

    func emit(_ step: Step) { steps.append(step) }

    /// What is to be done because of what happened since the last time, in order.
    func takeSteps() -> [Step] {
        guard !steps.isEmpty else { return [] }
        defer { steps = [] }
        return steps
    }

    func ask(_ query: Query, _ call: Call) { sync.store.read(query, for: .answer(call)) }

    func reply(
        _ call: Call, size: Int = 256, rows: Int = 0, people: Int = 0,
        _ result: (inout JSONWriter) -> Void
    ) {
        connections.reply(call, size: size, rows: rows, people: people, result)
    }

    func fail(_ call: Call, _ error: RequestError) { connections.fail(call, error) }

    // MARK: - What the store answers

    /// The store has answered what was asked for a call.
    func answered(_ token: UInt64, _ call: Call, _ result: Result<Answer, RequestError>) {
        switch result {
        case .failure(let error): fail(call, error)
        case .success(let answer): settle(token, call, answer)
        }
    }

    /// Answers the call, or parks the answer until the stream is where the store was read.
    private func settle(_ token: UInt64, _ call: Call, _ answer: Answer) {
        guard let conversation = call.request.conversation, let head = answer.head else {
            return emit(.answer(call, answer))
        }
        guard let (stream, state) = admit(call, conversation) else { return }
        if stream.replica?.copy.isDetached == true { return fail(call, .noCache) }
        if state.head.epoch == head.epoch, head.rev == state.position.rev,
            stream.replica.map({ token > $0.copy.lastChange }) ?? true
        {
            fanout.flush(stream)
            conclude(call, answer, stream, state)
        } else if stream.replica != nil
            || (state.head.epoch == head.epoch
                ? head.rev < state.position.rev : token < state.firstToken)
        {
            // Read before a change that the stream has taken since, or of the log before this one.
            perform(call.overtaken)
        } else {
            questions.reopen(token, for: call)
            stream.waits.answers.append((token, answer))
        }
    }

    /// The stream has moved: answers that were ahead of it may be due.
    func settleParked(_ stream: Stream) {
        guard !stream.waits.answers.isEmpty, let head = stream.state?.position else { return }
        let due = stream.waits.answers.filter { $0.answer.head.map { $0.rev <= head.rev } ?? true }
        stream.waits.answers.removeAll { $0.answer.head.map { $0.rev <= head.rev } ?? true }
        for (token, answer) in due {
            guard case .answer(let call) = questions.close(token) else { continue }
            settle(token, call, answer)
        }
    }

    /// The log behind the stream is another one now, or gone: whoever waits asks again.
    private func performParked(_ stream: Stream) {
        let parked = stream.waits.answers
        stream.waits.answers = []
        for (token, _) in parked {
            if case .answer(let call) = questions.close(token) { perform(call) }
        }
    }

    // MARK: - The end of a stream

    /// The stream is not in memory any more: nobody watches it, and whoever waits asks again.
    func ended(_ stream: Stream, with payload: [UInt8], _ waiting: [Call]) {
        stream.entry.isListed = false
        if let journal {
            for subscriber in stream.subscribers {
                journal.left(subscriber.session, stream, "ended", at: now)
            }
        }
        for session in stream.removeAll() { connections.push(session, payload) }
        releaseHeldReplies(stream)
        performParked(stream)
        for call in waiting { perform(call) }
    }

    /// They do not take part in the conversation any more.
    func removed(_ sessions: [Session], from stream: Stream) {
        for session in sessions {
            connections.push(
                session, ServerFrame.unsubscribed(conversation: stream.id, reason: .removed))
        }
    }

    // MARK: - What needs no look at the store

    /// Answers a holder that was away for a moment from what is in memory.
    /// - Returns: whether it could.
    private func recall(_ call: Call) -> Bool {
        guard case .subscribeMessages(let conversation, let have?, let limit) = call.request,
            let stream = streams[conversation.id], let state = stream.state,
            isWhole(stream, state, since: have.asOf),
            let read = stream.recent.catchUp(
                have, limit: limit, bytes: limits.replyBytes, at: state.position)
        else { return false }
        guard admit(call, conversation) != nil else { return true }
        tally.noteRemembered()
        fanout.flush(stream)
        conclude(call, .catchUp(read), stream, state)
        return true
    }

    /// What the feed has told above the change is all that the log has above it.
    private func isWhole(_ stream: Stream, _ state: Stream.State, since rev: Int) -> Bool {
        guard let replica = stream.replica else { return true }
        return replica.isLive && state.head.rev == state.position.rev
            && replica.copy.changesFrom <= rev
    }

    /// Concludes a read, if that needs no look at the cache: it serves nobody any more, and is
    /// given up; its session has not taken what it was sent, and the request is put off; or the
    /// answer is in memory, and is given.
    /// - Returns: whether it has.
    func concludeWithoutReading(_ token: UInt64) -> Bool {
        guard let call = questions[token]?.answered else { return questions[token] == nil }
        if let session = connections[call.session], !session.isClosing {
            if connections.isOverfull(session) {
                session.postponed.append(.call(call))
            } else if !recall(call) {
                return false
            }
        }
        questions.close(token)
        return true
    }

    /// Whether the question may be answered at another moment than the others, while the feed goes
    /// on. One whose answer was overtaken may not: in a busy conversation the next would be too.
    func mayReadSlow(_ token: UInt64) -> Bool {
        if case .unread = questions[token] { return true }
        return questions[token]?.answered.map { !$0.isOvertaken } ?? false
    }
}

extension Questions.Purpose {
    /// The call that is replied to as soon as the store has answered. Asked again, it shows again
    /// what it was to show first.
    fileprivate var answered: Call? {
        switch self {
        case .answer(let call), .boundaries(let call, _): return call
        case .shown(var call):
            call.hasShown = false
            return call
        case .load, .refresh, .write, .store, .reload, .place, .proof, .unread, .fetch:
            return nil
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
    var people: Int {
        if case .conversation(let view, _) = self { view.record.participantCount } else { 0 }
    }
}
