import Chat
import JSON
import Ports
import Wire

/// Handles calls about conversations, from the call to its reply: permissions, reads and writes,
/// waiting, and the form of the answer. Owned by the engine.
///
/// A reply about messages is as of the stream's position, so that the next event continues exactly
/// from there. The store may be read at a point ahead of the stream, whose changes are then on
/// their way; such an answer is parked until the stream has reached that point.
///
/// It knows no lists: calls about lists, and answers that show them, are emitted as steps, in
/// order, which the engine takes.
final class RequestDesk {
    /// Work for the rest of the engine.
    enum Step {
        /// A call about the caller's list, or one that only the origin of a log elsewhere can
        /// answer.
        case call(Call, user: String)
        /// An answer of the store that does not depend on a stream's position.
        case answer(Call, Answer)
        /// A call about who is there.
        case setPresence(Call, ConnectionPresence)
        case watchPresence(Call, [PresenceWatch])
    }

    let streams: StreamRegistry
    let questions: Questions
    let fanout: Fanout
    let tally: Tally
    let connections: Connections
    let sync: Sync
    @exclusivity(unchecked) private var steps: [Step] = []

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

    /// The steps since the last call, in order.
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

    // MARK: - Answers of the store

    /// The store answered a question for a call.
    func answered(_ token: UInt64, _ call: Call, _ result: Result<Answer, RequestError>) {
        switch result {
        case .failure(let error): failed(token, call, error)
        case .success(let answer): settle(token, call, answer)
        }
    }

    /// The store refused a question. A cache that does not know the conversation has dropped its
    /// log, because another one has the name: the call is asked about that one. Or the cache could
    /// not be written. Only the origin knows that a conversation is not there.
    func failed(_ token: UInt64, _ call: Call, _ error: RequestError) {
        guard mirrors, error.code == .notFound, let conversation = call.request.conversation
        else { return fail(call, error) }
        if let stream = streams[conversation.id], stream.state != nil, stream.isCurrent(token) {
            fail(call, .noCache)
        } else {
            perform(call.overtaken)
        }
    }

    /// Answers the call, or parks the answer until the stream has reached it.
    private func settle(_ token: UInt64, _ call: Call, _ answer: Answer) {
        guard let conversation = call.request.conversation, let head = answer.head else {
            return emit(.answer(call, answer))
        }
        guard let (stream, state) = admit(call, conversation) else { return }
        if stream.replica?.copy.isDetached == true { return fail(call, .noCache) }
        if state.head.epoch == head.epoch, head.rev == state.position.rev,
            stream.isCurrent(token)
        {
            fanout.flush(stream)
            conclude(call, answer, stream, state)
        } else if stream.replica != nil
            || (state.head.epoch == head.epoch
                ? head.rev < state.position.rev : token < state.firstToken)
        {
            // Read before a change that the stream has taken since, or from the previous log.
            perform(call.overtaken)
        } else {
            questions.reopen(token, for: call)
            stream.waits.answers.append((token, answer))
        }
    }

    /// The stream moved: parked answers may be due.
    func settleParked(_ stream: Stream) {
        guard !stream.waits.answers.isEmpty, let head = stream.state?.position else { return }
        let due = stream.waits.answers.filter { $0.answer.head.map { $0.rev <= head.rev } ?? true }
        stream.waits.answers.removeAll { $0.answer.head.map { $0.rev <= head.rev } ?? true }
        for (token, answer) in due {
            guard case .answer(let call) = questions.close(token) else { continue }
            settle(token, call, answer)
        }
    }

    /// The stream's log was replaced or is gone: parked calls ask again.
    private func performParked(_ stream: Stream) {
        let parked = stream.waits.answers
        stream.waits.answers = []
        for (token, _) in parked {
            if case .answer(let call) = questions.close(token) { perform(call) }
        }
    }

    // MARK: - The end of a stream

    /// The stream is no longer in memory: its subscriptions end, and waiting calls ask again.
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

    /// These sessions' users no longer take part in the conversation.
    func removed(_ sessions: [Session], from stream: Stream) {
        for session in sessions {
            connections.push(
                session, ServerFrame.unsubscribed(conversation: stream.id, reason: .removed))
        }
    }

    // MARK: - Answers without the store

    /// Gives a subscription the answer that another one, which asked the same, was given while this
    /// one waited for its turn.
    /// - Returns: whether it did.
    private func repeatAnswer(to call: Call) -> Bool {
        guard call.reach.isPlain,
            case .subscribeMessages(let conversation, let have, let limit) = call.request,
            let stream = streams[conversation.id], let state = stream.state, !stream.isOpen,
            let answer = stream.encoded.answer(.init(have: have, limit: limit), at: state)
        else { return false }
        guard admit(call, conversation) != nil else { return true }
        fanout.flush(stream)
        begin(call, answer, stream, state)
        return true
    }

    /// Answers a resume after a short absence from memory.
    /// - Returns: whether it did.
    private func recall(_ call: Call) -> Bool {
        guard call.reach.isPlain,
            case .subscribeMessages(let conversation, let have?, let limit) = call.request,
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

    /// Whether the feed brought every change that the log has above this one.
    private func isWhole(_ stream: Stream, _ state: Stream.State, since rev: Int) -> Bool {
        guard let replica = stream.replica else { return true }
        return replica.isLive && state.head.rev == state.position.rev
            && replica.copy.changesFrom <= rev
    }

    /// Concludes a read that need not look at the cache: no request awaits it now; or backpressure
    /// postpones its request; or the answer is in memory.
    /// - Returns: whether it did.
    func concludeWithoutReading(_ token: UInt64) -> Bool {
        guard let call = questions[token]?.answered else { return questions[token] == nil }
        if let session = connections[call.session], !session.isClosing {
            if connections.isOverfull(session) {
                session.postponed.append(.call(call))
                connections.registry.noteThrottle(session)
            } else if !repeatAnswer(to: call), !recall(call) {
                return false
            }
        }
        questions.close(token)
        return true
    }

    /// Whether the question may be answered beside the turns, while the feed goes on. Not if its
    /// last answer was overtaken: in a busy conversation the next one would be too.
    func mayReadSlow(_ token: UInt64) -> Bool {
        if case .unread = questions[token] { return true }
        return questions[token]?.answered.map { !$0.isOvertaken } ?? false
    }
}

extension Questions.Purpose {
    /// The call that is replied to as soon as the store answers. If it is asked again, it repeats
    /// the cached phase that was due.
    var answered: Call? {
        switch self {
        case .answer(let call), .boundaries(let call, _): return call
        case .shown(var call):
            call.takesCached = true
            return call
        case .load, .refresh, .reach, .write, .asked, .store, .reload, .place, .proof, .unread,
            .unreadIn, .fetch, .room, .presence:
            return nil
        }
    }
}

extension Answer {
    /// The log's head when it was read, for answers that depend on the stream's position.
    var head: Head? {
        if case .page(let page) = self { return page.head }
        return if case .catchUp(let read) = self { read.head } else { nil }
    }
}

extension Request {
    /// The conversation on whose stream the answer depends.
    var conversation: String? {
        let row = row
        let isOnStream = row.method == .subscribeMessages || row.method == .fetchMessages
        return isOnStream ? row.conversation : nil
    }

    /// Whether the answer shows conversations as they are in participants' lists.
    var showsConversations: Bool {
        let method = row.method
        return method == .subscribeConversations || method == .fetchConversations
            || method == .fetchConversation
    }

    /// Whether the method answers in two phases: `protocol.md` 3, ②.
    var isTwoPhase: Bool { row.kind == .twoPhaseRead }
}

extension Outcome {
    /// Estimated bytes of the reply that shows it.
    var size: Int {
        switch self {
        case .messages(let messages, _, _): 256 + (messages.first?.json.count ?? 0)
        case .reacted(let message, _, _): 512 + message.json.count
        case .conversation(let view, _): view.size
        case .read, .removed, .done: 96
        }
    }

    /// Participants looked at for it: a change of slot 0 is about all of them, and so is its end.
    var people: Int {
        switch self {
        case .conversation(let view, _): view.record.participantCount
        case .removed(let people): people
        case .messages, .reacted, .read, .done: 0
        }
    }
}
