import Chat
import Ports
import Wire

/// Connects the parts of an engine: the steps that one part returns are performed by the others,
/// after each event and in order, and each turn ends in a fixed order. It makes no decision that
/// belongs to one part. References between the parts point one way, and none points here.
final class Coordinator {
    let connections: Connections
    let sync: Sync
    let desk: RequestDesk
    let lists: Lists
    let totals: UnreadTotals
    let announcer: ListAnnouncer
    let listDesk: ListDesk
    let feed: FeedReader
    let presence: Presence

    init(_ connections: Connections, _ sync: Sync) {
        self.connections = connections
        self.sync = sync
        desk = RequestDesk(connections, sync)
        lists = Lists(sync.streams, sync.clock, sync)
        totals = UnreadTotals(lists, connections, sync)
        announcer = ListAnnouncer(lists, totals, connections, sync)
        listDesk = ListDesk(announcer, totals, connections, sync)
        feed = FeedReader(desk, announcer, totals)
        presence = Presence(connections, sync)
    }

    private var fanout: Fanout { sync.fanout }

    // MARK: - Steps

    /// Performs the steps that connections, replicas and requests have for each other and for
    /// lists.
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

    private func take(_ step: Connections.Step) {
        switch step {
        case .answered(let session, let conversation): desk.proceed(session, conversation)
        case .left(let session):
            announcer.unwatch(session)
            totals.end(session)
            presence.end(session)
        }
    }

    private func take(_ step: RequestDesk.Step) {
        switch step {
        case .call(let call, let user): listDesk.perform(call, user)
        case .answer(let call, let answer): listDesk.conclude(call, answer)
        case .setPresence(let call, let state): presence.set(call, state)
        case .watchPresence(let call, let conversations): presence.watch(call, conversations)
        }
    }

    private func take(_ step: Sync.Step) {
        switch step {
        case .wake(let stream): desk.wake(stream)
        case .release(let stream): desk.releaseHeldReplies(stream)
        case .changed(let stream, let message, let rev, let mark):
            totals.note(message, rev: rev, mark: mark, stream)
        case .list(let stream): announcer.list(stream)
        case .opened(let stream):
            lists.fellBehind(stream)
            totals.fellBehind(stream)
        case .left(let stream, let users): announcer.left(stream.id, users)
        case .removed(let stream, let sessions): desk.removed(sessions, from: stream)
        case .vanished(let stream, let waiting): vanished(stream, waiting)
        case .replaced(let stream, let head, let waiting): replaced(stream, head, waiting)
        case .branched: lists.isBranched = true
        }
    }

    private func vanished(_ stream: Stream, _ waiting: [Call]) {
        let participants = stream.state?.members.map(\.text) ?? []
        let told = announcer.vanished(stream.id.id, participants)
        if stream.state != nil {
            let payload = ServerFrame.unsubscribed(conversation: stream.id, reason: .deleted)
            desk.ended(stream, with: payload, waiting)
        } else {
            for call in waiting { desk.fail(call, .noConversation) }
        }
        announcer.tellLeft(stream.id, told, isKnown: true)
    }

    private func replaced(_ stream: Stream, _ head: Head, _ waiting: [Call]) {
        desk.ended(stream, with: ServerFrame.reset(conversation: stream.id, head: head), waiting)
        announcer.left(stream.id, stream.state?.members.map(\.text) ?? [])
        guard stream.entry.listed > 0 else { return }
        // Lists show the new log.
        let successor = sync.stream(stream.id)
        successor.entry.listed = stream.entry.listed
        successor.entry.isToBeAnnounced = true
    }

    // MARK: - Input

    /// A frame whose session takes replies.
    func take(_ frame: RequestFrame, _ session: Session) {
        if let call = connections.take(frame, session) {
            if case .connect = call.request {
                if let session = connections.connect(call, sync.status) {
                    totals.begin(session)
                    presence.begin(session)
                }
            } else {
                desk.perform(call)
            }
        }
        takeSteps()
    }

    /// The store answered a read.
    func answered(_ token: UInt64, _ result: Result<Answer, RequestError>) {
        switch sync.questions.close(token) {
        case .load(let conversation): feed.loaded(conversation, result)
        case .refresh(let conversation): sync.refreshed(token, conversation, result)
        case .reach(let call): desk.answered(call, about: result)
        case .answer(let call): desk.answered(token, call, result)
        case .boundaries(let call, let head): desk.answered(token, call, askedAt: head, result)
        case .reload(let stream, let beginning): sync.store.reloaded(stream, beginning, result)
        case .shown(let call): desk.showed(call, result)
        case .place(let call, let id, let field): desk.placed(call, id, field, result)
        case .proof(let subject, let claim): sync.proofs.confirmed(subject, claim, result)
        case .unread(let user, let reading): totals.answered(user, reading, result)
        case .unreadIn(let conversation, let user): totals.answered(user, conversation, result)
        case .write, .asked, .store, .fetch, .room, .presence, nil: break
        }
        takeSteps()
    }

    /// The upstream performed a write or refused it.
    func performed(_ token: UInt64, _ result: Result<Outcome, RequestError>) {
        desk.noteSent(token: token, result)
        if case .write(let call) = sync.questions.close(token) {
            if case .success(let outcome) = result, let user = connections[call.session]?.user {
                lists.wrote(outcome, call.request, by: user.id)
            }
            if case .success(let outcome) = result, let session = connections[call.session] {
                totals.wrote(outcome, call.request, session)
            }
            desk.performed(call, result)
            if case .success(let outcome) = result { presence.wrote(outcome, call.request) }
        }
        takeSteps()
    }

    /// The origin answered.
    func fetched(_ token: UInt64, _ generation: Int, _ result: Result<HistoryAnswer, RequestError>)
    {
        let purpose = sync.questions.close(token)
        if case .asked(let call) = purpose { desk.told(call, result) }
        if case .room(let conversation) = purpose { presence.answered(conversation, result) }
        guard case .fetch(let question) = purpose else { return takeSteps() }
        let result = sync.fetcher.checked(question, result)
        switch question {
        case .heads, .step, .range, .proof, .last: sync.fetched(question, generation, result)
        case .message(let call, let id): desk.located(call, id: id, result)
        case .moment(let call, let moment): desk.located(call, moment, result)
        case .call(let call): listDesk.answered(call, generation, result)
        case .list(let user, let reading): announcer.read(user, reading, generation, result)
        case .reader(let user, let subject):
            lists.took(subject, of: user, generation, result)
            totals.adopt(
                subject.stream.id.id, subject.view(in: result, generation), of: user)
        }
        takeSteps()
    }

    /// The upstream's link came up or went down.
    func linked(_ state: UpstreamState) {
        guard sync.mirrors else { return }
        sync.linked(state)
        if sync.isLinked {
            lists.doubtAll()
            announcer.readAllAgain()
        }
        presence.linked()
        takeSteps()
        tellUpstream()
    }

    /// Every subscription of that generation has ended.
    func lapsed(generation: Int) {
        sync.lapsed(generation: generation)
        lists.lapsed(generation: generation)
        takeSteps()
        totals.lapsed()
        tellUpstream()
    }

    // MARK: - Time

    /// Time has passed.
    func tick() {
        connections.tick()
        takeSteps()
        if sync.mirrors {
            sync.tick(areListsWatched: announcer.isWatched)
            takeSteps()
            announcer.readInTime()
            tellUpstream()
        }
        totals.tellDue()
        presence.tick()
        dropIdleStreams()
    }

    /// Evicts streams without recent requests.
    private func dropIdleStreams() {
        guard sync.streams.takeEvictionDue(at: sync.now) else { return }
        for stream in sync.streams.values { stream.encoded.drop() }
        connections.registry.dropFullBudgets(at: sync.now)
        if let options = sync.options { return sync.dropIdle(options) }
        sync.streams.evict(beyond: connections.limits.idleStreams)
    }

    // MARK: - The end of a turn

    /// Queues everything that the turn's changes have to send.
    func endTurn() {
        connections.runTimers()
        resumeDeferred()
        takeSteps()
        let due = fanout.pacing.takeDue(
            isDraining: connections.isDraining, fanout.delivery.sliced)
        for stream in due {
            fanout.flush(stream)
            announcer.announce(stream)
            desk.releaseHeldReplies(stream)
        }
        totals.tellTouched()
        presence.endTurn()
        if sync.mirrors {
            if sync.applier.status.takePendingNotice() { tellUpstream() }
            takeSteps()
            sync.store.saveAll()
            sync.fetcher.send { connections[$0.session] != nil }
        }
        for session in fanout.delivery.shedSlowReaders(at: sync.now) {
            connections.close(session, .outboxOverflow)
        }
        takeSteps()
    }

    /// Notifies clients if their view of the upstream's state changed.
    private func tellUpstream() {
        guard sync.applier.status.change(at: sync.now) else { return }
        // Changes held by pacing belong before the new state.
        for stream in fanout.pacing.takeAll() {
            fanout.flush(stream)
            announcer.announce(stream)
        }
        let state = sync.status.state
        let event = Broadcast(ServerFrame.upstream(state: state, since: sync.now), .upstream)
        for session in connections.registry.values.sorted(by: { $0.id < $1.id })
        where session.user != nil {
            connections.push(session, event)
        }
    }

    /// Takes up postponed requests.
    private func resumeDeferred() {
        for session in fanout.delivery.takeResumable() { resumeDeferred(session) }
    }

    private func resumeDeferred(_ session: Session) {
        let postponed = session.postponed
        session.postponed = []
        var next = postponed.startIndex
        while next < postponed.endIndex, !session.isClosing, !connections.isOverfull(session) {
            switch postponed[next] {
            case .frame(let frame): take(frame, session)
            case .call(let call):
                desk.perform(call)
                takeSteps()
            }
            next += 1
        }
        guard !session.isClosing else { return }
        session.postponed = Array(postponed[next...]) + session.postponed
        connections.registry.noteThrottle(session)
    }
}
