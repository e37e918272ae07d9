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
    private var waiting: [SessionID: [Call]] = [:]
    /// Calls that are to begin in this moment.
    private var beginning: [Call] = []
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
        waiting[session.id] = nil
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
        waiting[call.session, default: []].append(call)
        if isFirst(call) { begin(call) }
    }

    /// Whether it is the call of its connection that is under way.
    private func isFirst(_ call: Call) -> Bool { waiting[call.session]?.first?.id == call.id }

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
        guard case .watchPresence(let conversations) = call.request else { return }
        replaced[call.session] = watchings.removeValue(forKey: call.session)
        watchings[call.session] = PresenceWatching(conversations, at: now)
        for conversation in conversations {
            rooms.hold(conversation.conversation.id, by: call.session)
            rooms.check(conversation.conversation.id)
        }
        if !isLinked || !isReachable || options == nil { return conclude(call, isOpen: true) }
        askRooms()
        proceed(call)
    }

    private func stopWatching(_ session: SessionID) {
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
        guard isFirst(call), let watching = watchings[call.session], !watching.isAnswered else {
            return
        }
        if !watching.isScoped {
            let rooms = watching.conversations.map(\.conversation.id)
            guard rooms.allSatisfy(self.rooms.isCurrent) else { return }
            guard adopt(call.session) else { return refuse(call) }
        }
        let visible = watchings[call.session]?.visible ?? []
        if visible.allSatisfy({ known.shown($0) != nil }) { conclude(call, isOpen: false) }
    }

    /// The call names too many; nobody is watched from here on.
    private func refuse(_ call: Call) {
        stopWatching(call.session)
        connections.fail(call, tooMany)
        done(call)
    }

    /// Applies who takes part now to what the connection watches. Beyond the limit newcomers are
    /// left out.
    /// - Returns: false if the call is still to be answered, and names too many.
    private func adopt(_ id: SessionID) -> Bool {
        guard let caller = connections[id]?.user?.id, var watching = watchings[id] else {
            return true
        }
        var scope = watching.scope(of: caller, rooms)
        let limit = connections.limits.presentUsers
        if scope.users.count > limit {
            guard watching.isAnswered else { return false }
            scope.users.removeLast(scope.users.count - limit)
            scope.visible.formIntersection(scope.users)
        }
        let (begun, ended) = watching.adopt(scope)
        watchings[id] = watching
        for user in begun { known.watch(user, by: id) }
        for user in ended { known.unwatch(user, by: id) }
        if watching.isAnswered { due.insert(id) }
        return true
    }

    /// Answers the call with what is known.
    private func conclude(_ call: Call, isOpen: Bool) {
        if isOpen, !adopt(call.session) { return refuse(call) }
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
        release(replaced.removeValue(forKey: call.session), of: call.session)
        guard isFirst(call) else { return }
        waiting[call.session]?.removeFirst()
        if let next = waiting[call.session]?.first { return begin(next) }
        waiting[call.session] = nil
    }

    /// The calls under way, one of each connection.
    private var first: [Call] {
        waiting.sorted { $0.key < $1.key }.compactMap(\.value.first)
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
        for id in rooms.holders(of: conversation) {
            if watchings[id]?.isScoped == true, !adopt(id) {
                // It is answered with too many below.
                watchings[id]?.unscope()
            }
            guard let call = waiting[id]?.first, let watching = watchings[id],
                watching.conversations.contains(where: { $0.conversation.id == conversation })
            else { continue }
            if members == nil { conclude(call, isOpen: true) } else { proceed(call) }
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
            note(known.took(reading, call.reads, options.rule, at: now))
            let watchers = call.reads.flatMap { known.watchers(of: $0.id) }
            for id in Set(watchers).sorted() {
                if let call = waiting[id]?.first { proceed(call) }
            }
        }
    }

    private func note(_ changed: [ID]) {
        for user in changed {
            for id in known.watchers(of: user) {
                watchings[id]?.note(user)
                due.insert(id)
            }
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
