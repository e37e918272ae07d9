import Chat
import JSON
import Ports
import Rules
import Wire

/// Whether users are there: what this gateway says of its own users to the origin, and what its
/// connections are told of those whom they watch. It knows sessions; the three values that it owns
/// decide, and have no clock.
///
/// One call of the origin is under way at a time; what comes meanwhile goes with the next.
final class Presence {
    private var own = OwnPresence()
    private var known = KnownPresence()
    private var rooms = PresenceRooms()
    private var watchings: [SessionID: PresenceWatching] = [:]
    /// What a connection watched before the call under way: it is known until that is answered.
    private var replaced: [SessionID: PresenceWatching] = [:]
    /// Calls of each connection that wait, in order. The first waits for who takes part, and for
    /// readings.
    private var waiting: [SessionID: [Call]] = [:]
    /// Connections of which a room was answered in this turn.
    private var moved: Set<SessionID> = []
    /// Calls that are to begin in this moment.
    private var beginning: [Call] = []
    /// The call of the origin under way.
    private var underWay: (call: PresenceCall, sentAt: Timestamp)?
    /// After a failure, or a reading that no client waits for, the next call waits until then.
    private var nextCallAt: Timestamp
    /// Whether the origin answered the last call.
    private var isReachable = true
    /// When users are read after the link came back: once the feed says whose presence changed.
    private var readsFrom: Timestamp
    private var isFollowed = false
    /// Connections with something to tell, and when the first of them may be told.
    private var due: Set<SessionID> = []
    private var tellAt: Timestamp
    /// They are looked through so often at most.
    private var beatAt: Timestamp

    private let connections: Connections
    private let sync: Sync

    /// Milliseconds after a failure.
    private static let patience: Int64 = 1000
    /// Milliseconds after the origin said that it does not keep who is there.
    private static let rest: Int64 = 15_000

    init(_ connections: Connections, _ sync: Sync) {
        self.connections = connections
        self.sync = sync
        nextCallAt = sync.now
        readsFrom = sync.now
        tellAt = sync.now
        beatAt = sync.now
    }

    private var now: Timestamp { sync.now }
    private var options: PresenceOptions? { connections.limits.presence }
    private var isLinked: Bool { sync.isLinked || !sync.mirrors }

    // MARK: - Connections

    /// The session was admitted.
    func begin(_ session: Session) { move(session, from: nil, to: session.presence) }

    /// The session ends.
    func end(_ session: Session) {
        if session.user != nil { move(session, from: session.presence, to: nil) }
        stopWatching(session.id)
    }

    /// The limits may be others.
    func adopt() {
        guard !connections.limits.clients.presence else { return }
        for (session, calls) in waiting {
            waiting[session] = nil
            for call in calls { connections.fail(call, ClientPolicy.noPresence) }
        }
        for session in watchings.keys { stopWatching(session) }
    }

    /// The gateway stops.
    func leave() { own.leave() }

    /// Whether the origin knows who left, or can't be told.
    var isSaid: Bool { options == nil || own.isSaid || !isLinked || !isReachable }

    private func move(
        _ session: Session, from: ConnectionPresence?, to: ConnectionPresence?
    ) {
        guard let options, let user = session.user?.id else { return }
        own.move(
            user, from: from, to: to, linger: options.linger, returnsAt: session.returnsAt,
            at: now)
    }

    // MARK: - Calls of clients

    /// `setPresence`
    func set(_ call: Call, _ presence: ConnectionPresence) {
        guard let session = connections[call.session] else { return }
        guard connections.limits.clients.presence else {
            return connections.fail(call, ClientPolicy.noPresence)
        }
        move(session, from: session.presence, to: presence)
        session.presence = presence
        connections.reply(call) { $0.emptyObject() }
    }

    /// `watchPresence`
    func watch(_ call: Call, _ conversations: [PresenceWatch]) {
        guard connections.limits.clients.presence else {
            return connections.fail(call, ClientPolicy.noPresence)
        }
        let named = Set(conversations.flatMap { ($0.users ?? []).map(\.id) }).count
        guard max(conversations.count, named) <= connections.limits.presentUsers else {
            return connections.fail(call, tooMany)
        }
        waiting[call.session, default: []].append(call)
        if waiting[call.session]?.count == 1 { begin(call) }
    }

    private var tooMany: RequestError {
        RequestError(
            .limitPresence,
            "params.watch: at most \(connections.limits.presentUsers) users and conversations are"
                + " watched by a connection (limits.presence)")
    }

    /// The call is the first of its connection. Calls that are answered at once begin the next ones
    /// in a loop: a connection may have thousands.
    private func begin(_ call: Call) {
        beginning.append(call)
        guard beginning.count == 1 else { return }
        while let next = beginning.first {
            start(next)
            beginning.removeFirst()
        }
    }

    private func start(_ call: Call) {
        guard case .watchPresence(let conversations) = call.request,
            waiting[call.session]?.first?.id == call.id
        else { return }
        replaced[call.session] = watchings.removeValue(forKey: call.session)
        watchings[call.session] = PresenceWatching(
            conversations, after: rooms.turn, known.call, at: now)
        for conversation in conversations {
            rooms.hold(conversation.conversation.id, by: call.session)
            rooms.check(conversation.conversation.id)
        }
        if !isLinked || !isReachable || options == nil { return conclude(call, isOpen: true) }
        askRooms()
        proceed(call)
    }

    /// The connection ends, or may watch no longer.
    private func stopWatching(_ session: SessionID) {
        waiting[session] = nil
        release(replaced.removeValue(forKey: session), of: session)
        release(watchings.removeValue(forKey: session), of: session)
        due.remove(session)
    }

    private func release(_ watching: PresenceWatching?, of session: SessionID) {
        guard let watching else { return }
        for user in watching.visible { known.unwatch(user, by: session) }
        for conversation in watching.conversations {
            rooms.release(conversation.conversation.id, by: session)
        }
    }

    /// Answers the call if all that it waits for is there.
    private func proceed(_ call: Call) {
        guard waiting[call.session]?.first?.id == call.id,
            let watching = watchings[call.session], !watching.isAnswered,
            watching.conversations.allSatisfy({
                rooms.isCurrent($0.conversation.id, after: watching.turn)
            }),
            let scope = adopt(call.session)
        else { return }
        guard scope.users.count <= connections.limits.presentUsers else { return refuse(call) }
        if scope.visible.allSatisfy({ known.answers($0, after: watching.call) }) {
            conclude(call, isOpen: false)
        }
    }

    /// The call names too many: what was watched before goes on.
    private func refuse(_ call: Call) {
        release(watchings.removeValue(forKey: call.session), of: call.session)
        if let before = replaced.removeValue(forKey: call.session) {
            watchings[call.session] = before
            watchings[call.session]?.noteAll()
            _ = adopt(call.session)
        }
        connections.fail(call, tooMany)
        done(call)
    }

    /// Applies who takes part now to what the connection watches. Newcomers beyond the limit are
    /// left out, unless the call is still to be answered.
    private func adopt(_ id: SessionID) -> PresenceWatching.Scope? {
        guard let caller = connections[id]?.user?.id, let watching = watchings[id] else {
            return nil
        }
        var scope = watching.scope(of: caller, rooms)
        let limit = connections.limits.presentUsers
        if !watching.isAnswered, scope.users.count > limit { return scope }
        scope.cut(to: limit)
        let (begun, ended) = watchings[id]?.adopt(scope) ?? ([], [])
        for user in begun { known.watch(user, by: id) }
        for user in ended { known.unwatch(user, by: id) }
        expect(id)
        return scope
    }

    /// Answers the call with what is known.
    private func conclude(_ call: Call, isOpen: Bool) {
        if isOpen, let scope = adopt(call.session),
            scope.users.count > connections.limits.presentUsers
        {
            return refuse(call)
        }
        if let answer = watchings[call.session]?.answer(known) {
            // Looking for users among those who take part costs as much as showing them.
            let conversations = watchings[call.session]?.conversations ?? []
            let seen = conversations.reduce(0) { $0 + (rooms[$1.conversation.id]?.count ?? 0) }
            let people = conversations.count + max(answer.count, seen)
            connections.reply(call, size: 64 + 96 * answer.count, people: people) {
                $0.beginObject()
                $0.key("presence")
                $0.presence(answer)
                $0.open(isOpen)
                $0.endObject()
            }
            expect(call.session)
        }
        done(call)
    }

    /// The call was answered: the next of its connection goes on.
    private func done(_ call: Call) {
        release(replaced.removeValue(forKey: call.session), of: call.session)
        waiting[call.session]?.removeFirst()
        guard let next = waiting[call.session]?.first else {
            waiting[call.session] = nil
            return
        }
        begin(next)
    }

    /// The origin is away, or can't answer: calls are answered with what is known.
    private func concludeAll() {
        for call in waiting.values.compactMap(\.first) { conclude(call, isOpen: true) }
    }

    // MARK: - Who takes part

    /// An event of the feed.
    func heard(_ event: FeedEvent) {
        switch event {
        case .record(let record, _, _, _, _, _): rooms.changed(record.id.id)
        case .deleted(let conversation, _, _): rooms.changed(conversation.id)
        case .listed(_, let conversation, _): rooms.changed(conversation.id)
        case .message, .read, .typing: break
        }
    }

    /// The origin did what this gateway asked for. The feed need not say it here.
    func wrote(_ outcome: Outcome, _ request: Request? = nil) {
        if case .conversation(let view, _) = outcome { rooms.changed(view.record.id.id) }
        if case .leaveConversation(let conversation) = request { rooms.changed(conversation.id) }
        if case .deleteConversation(let conversation) = request { rooms.changed(conversation.id) }
    }

    private func askRooms() {
        var next = rooms.take()
        while !next.isEmpty {
            for conversation in next {
                // The log in the gateway's own file is followed whole: what is in memory is so.
                if !sync.mirrors, let state = sync.streams[conversation]?.state {
                    take(state.members, of: conversation)
                    continue
                }
                let query = HistoryQuery.participants(
                    conversation: conversation.text, ParticipantsRequest())
                let token = sync.questions.number(for: .room(conversation))
                sync.questions.act(.ask(query, token: token))
            }
            next = rooms.take()
        }
    }

    /// The origin answered who takes part.
    func answered(_ conversation: ID, _ result: Result<HistoryAnswer, RequestError>) {
        var members: Set<ID>?
        switch result {
        case .success(.participants(let list)): members = Set(list.users.map(\.id))
        case .failure(let error) where error.code == .notFound: members = []
        case .success, .failure: break
        }
        take(members, of: conversation)
    }

    /// - Parameter members: nil if they could not be had.
    private func take(_ members: Set<ID>?, of conversation: ID) {
        rooms.answered(conversation, members, at: now)
        let holders = rooms[conversation]?.holders.keys.map { $0 } ?? []
        moved.formUnion(holders)
        guard let members else {
            for id in holders {
                guard let call = waiting[id]?.first, case .watchPresence(let watch) = call.request,
                    watch.contains(where: { $0.conversation.id == conversation })
                else { continue }
                conclude(call, isOpen: true)
            }
            return
        }
        let takesPart = holders.contains { holder in
            connections[holder]?.user.map { members.contains($0.id) } ?? false
        }
        if !takesPart { rooms.empty(conversation) }
    }

    /// Applies who takes part to the connections whose rooms were answered in this turn, once each.
    private func adoptMoved() {
        while let id = moved.popFirst() {
            if watchings[id]?.isAnswered == true {
                _ = adopt(id)
            } else if let call = waiting[id]?.first {
                proceed(call)
            }
        }
    }

    // MARK: - The origin

    /// The upstream's link came up or went down.
    func linked() {
        guard isLinked else {
            // What may change from here on is not heard.
            isFollowed = false
            known.askAll()
            return concludeAll()
        }
        nextCallAt = now
        readsFrom = isFollowed ? now : now.adding(Self.patience)
        rooms.checkAll()
    }

    /// From here on the feed says whose presence changed.
    func follows() {
        isFollowed = true
        readsFrom = now
        known.askAll()
    }

    /// What the origin has of these users changed.
    func changed(_ users: [String]) {
        for user in users { known.ask(user.id) }
    }

    /// The origin answered a call.
    func answered(_ result: Result<PresenceReading, RequestError>) {
        guard let (call, sentAt) = underWay, let options else { return }
        underWay = nil
        switch result {
        case .failure(let error):
            own.failed()
            known.failed(call.reads)
            nextCallAt = now.adding(error.reason == .notEnabled ? Self.rest : Self.patience)
            isReachable = false
            concludeAll()
        case .success(let reading):
            isReachable = true
            own.answered(reading, renewal: call.renewal, sentAt: sentAt)
            for user in known.took(reading, call.reads, options.rule, at: now) {
                for id in known.watchers(of: user) { watchings[id]?.note(user) }
            }
            for id in Set(call.reads.flatMap { known.watchers(of: $0.id) }) {
                expect(id)
                if let call = waiting[id]?.first { proceed(call) }
            }
        }
    }

    /// The connection may have something to be told.
    private func expect(_ id: SessionID) {
        guard let watching = watchings[id], watching.isAnswered, watching.hasPending else { return }
        due.insert(id)
        tellAt = min(tellAt, max(beatAt, watching.nextAt))
    }

    // MARK: - Time

    /// Time has passed.
    func tick() {
        guard let options else { return }
        own.advance(to: now)
        known.advance(to: now)
        rooms.advance(to: now, interval: options.interval)
    }

    /// The end of a turn: asks the origin, and tells connections.
    func endTurn() {
        guard let options else { return }
        if isLinked {
            askRooms()
            adoptMoved()
            ask(options)
        }
        tell(options)
    }

    private func ask(_ options: PresenceOptions) {
        guard underWay == nil, now >= nextCallAt else { return }
        let renews = !own.isEmpty || !watchings.isEmpty
        let isReading = known.isDue && now >= readsFrom
        guard isReading || own.isDue(lease: options.lease, renews: renews, at: now) else {
            // Nothing is to be asked that could fail again.
            isReachable = true
            return
        }
        let (says, renewal) = own.take(lease: options.lease, renews: renews, at: now)
        let reads = isReading ? known.take() : []
        guard !says.isEmpty || !reads.isEmpty || renewal != .none else { return }
        let call = PresenceCall(
            gateway: connections.instance, number: own.number, era: own.era, renewal: renewal,
            says: says, reads: reads, lease: options.lease, grace: options.grace,
            retain: options.retain)
        underWay = (call, now)
        // Doorbells come in crowds: they share a reading. What is too much for a call goes on.
        if waiting.isEmpty, !own.isQueued, !known.isDue {
            nextCallAt = now.adding(min(50, options.interval / 10))
        }
        sync.questions.act(.presence(call, token: sync.questions.number(for: .presence)))
    }

    private func tell(_ options: PresenceOptions) {
        guard !due.isEmpty, isLinked, now >= tellAt else { return }
        beatAt = now.adding(options.interval / 10)
        var next = Timestamp(milliseconds: .max)
        for id in due {
            // A call that is not answered yet says all of it.
            guard let session = connections[id], watchings[id]?.isAnswered == true,
                let nextAt = watchings[id]?.nextAt
            else {
                due.remove(id)
                continue
            }
            // What waits is joined by user: nothing is queued for a reader that takes nothing.
            let mayAt =
                connections.isOverfull(session) ? now.adding(options.interval) : nextAt
            guard mayAt <= now else {
                next = min(next, mayAt)
                continue
            }
            due.remove(id)
            let changes =
                watchings[id]?.take(known, interval: options.interval, at: now) ?? []
            guard !changes.isEmpty else { continue }
            connections.push(session, Broadcast(ServerFrame.presence(changes), .presence))
        }
        tellAt = max(beatAt, next)
    }
}
