import Chat
import Ports
import Wire

/// Logs that live elsewhere, as the shell and the rest of the engine see them: `Sync` follows them,
/// and requests, lists and connections do what it says. Each event is handed to it, and its steps
/// are taken before the next one.
extension Engine {
    // MARK: - What the upstream tells

    /// The upstream's link is up, or is not.
    package func linked(_ state: UpstreamState, at now: Timestamp) {
        self.now = now
        guard mirrors else { return }
        sync.linked(state)
        if isLinked {
            lists.doubtAll()
            readListsAgain()
        }
        takeSteps()
        tellUpstream()
    }

    /// The origin has acknowledged: from here on the feed tells of this conversation.
    package func subscribed(_ conversation: String, generation: Int, at now: Timestamp) {
        self.now = now
        guard let stream = streams[conversation.id] else { return }
        sync.subscribed(stream, generation: generation, reading: lists.readings)
        takeSteps()
    }

    /// Every subscription of that generation has ended.
    package func lapsed(generation: Int, at now: Timestamp) {
        self.now = now
        sync.lapsed(generation: generation)
        lists.lapsed(generation: generation)
        takeSteps()
        doubtUnread()
        tellUpstream()
    }

    /// The origin has found that this part of the log is damaged, or (nil) that it is whole again.
    package func damaged(_ conversation: String, _ part: String?, at now: Timestamp) {
        self.now = now
        guard let stream = streams[conversation.id] else { return }
        sync.heard(part, of: stream)
        takeSteps()
    }

    /// The origin has answered.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    package func fetched(
        _ token: UInt64, generation: Int, _ result: Result<HistoryAnswer, RequestError>,
        at now: Timestamp
    ) {
        self.now = now
        guard case .fetch(let question) = questions.close(token) else { return }
        let result = sync.checked(question, result)
        switch question {
        case .heads, .step, .range, .proof, .last: sync.fetched(question, generation, result)
        case .message(let call, let id): desk.located(call, id: id, result)
        case .moment(let call, let moment): desk.located(call, moment, result)
        case .call(let call): answer(call, generation, result)
        case .list(let user, let reading): listed(user, reading, generation, result)
        case .reader(let user, let subject): lists.took(subject, of: user, generation, result)
        }
        takeSteps()
    }

    // MARK: - What the cache tells

    /// The cache has dropped something by itself.
    package func trimmed(
        _ conversation: String, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        guard let stream = streams[conversation.id] else { return }
        sync.trimmed(stream, result)
        takeSteps()
    }

    /// The file has taken what it was told, or has not.
    package func stored(_ token: UInt64, _ succeeded: Bool, at now: Timestamp) {
        self.now = now
        sync.stored(token, succeeded)
        takeSteps()
    }

    // MARK: - Steps

    /// Does what connections and the following of logs ask of requests, lists and each other.
    func takeSteps() {
        while true {
            let connections = connections.takeSteps()
            let sync = sync.takeSteps()
            let desk = desk.takeSteps()
            guard !connections.isEmpty || !sync.isEmpty || !desk.isEmpty else { return }
            for step in connections { take(step) }
            for step in sync { take(step) }
            for step in desk { take(step) }
        }
    }

    private func take(_ step: Sync.Step) {
        switch step {
        case .wake(let stream): desk.wake(stream)
        case .release(let stream): desk.releaseHeldReplies(stream)
        case .changed(let stream, let message, let rev):
            list(stream)
            noteChange(message, rev: rev, stream)
        case .list(let stream): list(stream)
        case .opened(let stream):
            lists.fellBehind(stream)
            if !unreadCounts.isEmpty { touchUnread(stream) }
        case .left(let stream, let users): unlist(stream.id, users)
        case .removed(let stream, let sessions): unsubscribed(sessions, stream)
        case .vanished(let stream, let waiting): vanished(stream, waiting)
        case .replaced(let stream, let head, let waiting): replaced(stream, head, waiting)
        }
    }

    private func take(_ step: RequestDesk.Step) {
        switch step {
        case .call(let call, let user): performList(call, user)
        case .answer(let call, let answer): conclude(call, answer)
        }
    }

    private func take(_ step: Connections.Step) {
        switch step {
        case .answered(let session, let conversation): desk.proceed(session, conversation)
        case .left(let session):
            unwatchList(session)
            endUnread(session)
        }
    }

    /// They do not take part in the conversation any more.
    func unsubscribed(_ sessions: [Session], _ stream: Stream) {
        for session in sessions {
            push(session, ServerFrame.unsubscribed(conversation: stream.id, reason: .removed))
        }
    }

    private func vanished(_ stream: Stream, _ waiting: [Call]) {
        let id = stream.id.id
        let told = lists.forget(id)
        dropUnread(id, of: told + (stream.state?.record.participants ?? []))
        if stream.state != nil {
            let payload = ServerFrame.unsubscribed(conversation: stream.id, reason: .deleted)
            ended(stream, with: payload, waiting)
        } else {
            for call in waiting { fail(call, .noConversation) }
        }
        tellUnlisted(stream.id, told)
    }

    private func replaced(_ stream: Stream, _ head: Head, _ waiting: [Call]) {
        ended(stream, with: ServerFrame.reset(conversation: stream.id, head: head), waiting)
        unlist(stream.id, stream.state?.record.participants ?? [])
        guard stream.listed > 0 else { return }
        // Lists show the new one.
        let successor = desk.stream(stream.id)
        successor.listed = stream.listed
        successor.isToBeAnnounced = true
    }

    /// The stream is not in memory any more: nobody watches it, and whoever waits asks again.
    func ended(_ stream: Stream, with payload: [UInt8], _ waiting: [Call]) {
        stream.isListed = false
        if let journal {
            for subscriber in stream.subscribers {
                journal.left(subscriber.session, stream, "ended", at: now)
            }
        }
        for session in stream.removeAll() { push(session, payload) }
        desk.releaseHeldReplies(stream)
        desk.performParked(stream)
        for call in waiting { desk.perform(call) }
    }

    // MARK: - What clients are told

    /// Tells clients if they see the upstream in another state.
    func tellUpstream() {
        guard sync.status.change(at: now) else { return }
        // What the streams still have to say was said under the old state.
        for stream in fanout.pacing.takeAll() {
            fanout.flush(stream)
            announce(stream)
        }
        let event = Broadcast(ServerFrame.upstream(state: sync.status.state, since: now), .upstream)
        for session in sessions.values.sorted(by: { $0.id < $1.id }) where session.user != nil {
            push(session, event)
        }
    }

    /// The upstream's link is up.
    var isLinked: Bool { sync.isLinked }

    /// Whether the link had time to come up once.
    var hasGivenTime: Bool { sync.hasGivenTime }

    // MARK: - For the other files of the engine

    /// Looks at what waits for a moment.
    func tickSync() {
        guard mirrors else { return }
        sync.tick(areListsWatched: !listWatchers.isEmpty)
        takeSteps()
        readListsInTime()
        tellUpstream()
    }

    func ask(_ question: FetchQueue.Question, _ query: HistoryQuery, _ rank: Int) {
        sync.ask(question, query, rank)
    }
}
