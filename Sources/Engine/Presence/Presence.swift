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
    /// Calls that wait for who takes part, or for readings; those of one connection in order.
    private var waiting: [Call] = []
    /// The call of the origin under way.
    private var underWay: (call: PresenceCall, sentAt: Timestamp)?
    /// After a failure, or a reading that no client waits for, the next call waits until then.
    private var nextCallAt: Timestamp
    /// Whether the origin answered the last call.
    private var isReachable = true
    /// Connections with something to tell.
    private var due: Set<SessionID> = []

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
        guard watchings[session.id] != nil || waiting.contains(where: { $0.session == session.id })
        else { return }
        waiting.removeAll { $0.session == session.id }
        stopWatching(session.id)
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
        let isFirst = !waiting.contains { $0.session == call.session }
        waiting.append(call)
        if isFirst { begin(call) }
    }

    private var tooMany: RequestError {
        RequestError(
            .limitPresence,
            "params.watch: at most \(connections.limits.presentUsers) users and conversations are"
                + " watched by a connection (limits.presence)")
    }

    /// The call is the first of its connection.
    private func begin(_ call: Call) {
        guard case .watchPresence(let conversations) = call.request else { return }
        replaced[call.session] = watchings.removeValue(forKey: call.session)
        watchings[call.session] = PresenceWatching(conversations, at: now)
        for conversation in conversations {
            rooms.hold(conversation.conversation.id)
            rooms.check(conversation.conversation.id)
        }
        if !isLinked || !isReachable || options == nil { return conclude(call, isOpen: true) }
        askRooms()
        proceed(call)
    }

    private func stopWatching(_ session: SessionID) {
        release(replaced.removeValue(forKey: session))
        release(watchings.removeValue(forKey: session))
        due.remove(session)
    }

    private func release(_ watching: PresenceWatching?) {
        guard let watching else { return }
        for user in watching.visible { known.unwatch(user) }
        for conversation in watching.conversations { rooms.release(conversation.conversation.id) }
    }

    /// Answers the call if all that it waits for is there.
    private func proceed(_ call: Call) {
        guard let watching = watchings[call.session], !watching.isAnswered,
            watching.conversations.allSatisfy({ rooms.isCurrent($0.conversation.id) }),
            let scope = adopt(call.session)
        else { return }
        guard scope.users.count <= connections.limits.presentUsers else {
            stopWatching(call.session)
            connections.fail(call, tooMany)
            return done(call)
        }
        if scope.visible.allSatisfy({ known.shown($0) != nil }) { conclude(call, isOpen: false) }
    }

    /// Applies who takes part now to what the connection watches. Users beyond the limit are left
    /// out, unless the call is still to be answered.
    private func adopt(_ id: SessionID) -> PresenceWatching.Scope? {
        guard let caller = connections[id]?.user?.id, var watching = watchings[id] else {
            return nil
        }
        var scope = watching.scope(of: caller, rooms)
        let limit = connections.limits.presentUsers
        if scope.users.count > limit {
            guard watching.isAnswered else { return scope }
            scope.users.removeLast(scope.users.count - limit)
            scope.visible.formIntersection(scope.users)
        }
        let (begun, ended) = watching.adopt(scope)
        watchings[id] = watching
        for user in begun { known.watch(user) }
        for user in ended { known.unwatch(user) }
        if watching.isAnswered { due.insert(id) }
        return scope
    }

    /// Answers the call with what is known.
    private func conclude(_ call: Call, isOpen: Bool) {
        if isOpen { _ = adopt(call.session) }
        if let answer = watchings[call.session]?.answer(known, at: now) {
            connections.reply(call, size: 64 + 96 * answer.count, people: answer.count) {
                $0.beginObject()
                $0.key("presence")
                $0.presence(answer)
                $0.open(isOpen)
                $0.endObject()
            }
            due.insert(call.session)
        }
        done(call)
    }

    /// The call was answered: the next of its connection goes on.
    private func done(_ call: Call) {
        release(replaced.removeValue(forKey: call.session))
        waiting.removeAll { $0.session == call.session && $0.id == call.id }
        if let next = waiting.first(where: { $0.session == call.session }) { begin(next) }
    }

    /// The first waiting call of each connection.
    private var first: [Call] {
        var seen: Set<SessionID> = []
        return waiting.filter { seen.insert($0.session).inserted }
    }

    /// The origin is away, or can't answer: calls are answered with what is known.
    private func concludeAll() {
        for call in first { conclude(call, isOpen: true) }
    }

    // MARK: - Who takes part

    /// An event of the feed.
    func heard(_ event: FeedEvent) {
        switch event {
        case .record(let record, _, _, _, _, _): rooms.check(record.id.id)
        case .deleted(let conversation, _, _): rooms.check(conversation.id)
        case .message, .read, .listed, .typing: break
        }
    }

    private func askRooms() {
        for conversation in rooms.take() {
            let query = HistoryQuery.participants(
                conversation: conversation.text, ParticipantsRequest())
            let token = sync.questions.number(for: .room(conversation))
            sync.questions.act(.ask(query, token: token))
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
        rooms.answered(conversation, members, at: now)
        for id in watchings.keys.sorted() {
            guard let watching = watchings[id], watching.isAnswered,
                watching.conversations.contains(where: { $0.conversation.id == conversation })
            else { continue }
            _ = adopt(id)
        }
        for call in first {
            guard case .watchPresence(let conversations) = call.request else { continue }
            let concerns = conversations.contains { $0.conversation.id == conversation }
            if concerns, members == nil { conclude(call, isOpen: true) } else { proceed(call) }
        }
    }

    // MARK: - The origin

    /// The upstream's link came up or went down.
    func linked() {
        guard isLinked else { return concludeAll() }
        nextCallAt = now
        known.askAll()
        rooms.checkAll()
    }

    /// From here on the feed says whose presence changed.
    func follows() { known.askAll() }

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
            let changed = known.took(reading, call.reads, options.rule, at: now)
            note(changed)
            for call in first { proceed(call) }
        }
    }

    private func note(_ changed: [ID]) {
        guard !changed.isEmpty else { return }
        for id in watchings.keys {
            for user in changed { watchings[id]?.note(user) }
            due.insert(id)
        }
    }

    // MARK: - Time

    /// Time has passed.
    func tick() {
        guard options != nil else { return }
        own.advance(to: now)
        known.advance(to: now)
        rooms.advance(to: now)
    }

    /// The end of a turn: asks the origin, and tells connections.
    func endTurn() {
        guard let options else { return }
        if isLinked {
            askRooms()
            ask(options)
        }
        tell(options)
    }

    private func ask(_ options: PresenceOptions) {
        let renews = !own.isEmpty || !watchings.isEmpty
        guard underWay == nil, now >= nextCallAt,
            known.isDue || own.isDue(lease: options.lease, renews: renews, at: now)
        else { return }
        let (says, renewal) = own.take(lease: options.lease, renews: renews, at: now)
        let reads = known.take()
        guard !says.isEmpty || !reads.isEmpty || renewal != .none else { return }
        let call = PresenceCall(
            gateway: connections.instance, era: own.era, renewal: renewal, says: says,
            reads: reads, lease: options.lease, grace: options.grace, retain: options.retain)
        underWay = (call, now)
        // Doorbells come in crowds: they share a reading.
        if waiting.isEmpty { nextCallAt = now.adding(min(50, options.interval / 10)) }
        sync.questions.act(.presence(call, token: sync.questions.number(for: .presence)))
    }

    private func tell(_ options: PresenceOptions) {
        guard !due.isEmpty, isLinked else { return }
        for id in due.sorted() {
            guard let session = connections[id], var watching = watchings[id] else {
                due.remove(id)
                continue
            }
            // What waits is joined by user: nothing is queued for a reader that takes nothing.
            guard watching.isDue(at: now), !connections.isOverfull(session) else {
                if watching.isAnswered, !watching.hasPending { due.remove(id) }
                continue
            }
            let changes = watching.take(known, interval: options.interval, at: now)
            watchings[id] = watching
            due.remove(id)
            guard !changes.isEmpty else { continue }
            connections.push(session, Broadcast(ServerFrame.presence(changes), .presence))
        }
    }
}
