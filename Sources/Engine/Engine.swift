import Chat
import JSON
import Ports
import Wire

/// Decides. Everything that happens to the gateway comes in as a call (a frame, a change of a log,
/// an answer of the store, the passing of time); what is to be done comes out as `Action`s and as
/// frames in the outboxes of sessions. It has no clock, thread, file or socket, so a simulation
/// runs it as the gateway does. Owned by the loop; not thread-safe.
///
/// The order of a turn: any number of calls, `endTurn`, then `takeActions` until there is none, and
/// last the outboxes of `takeDirtySessions`, the closes of `takeCloses` and whom to read no further
/// of `takeThrottles`.
package final class Engine {
    /// What the shell is asked to do.
    package enum Action: Sendable {
        /// Ask the store; answered by `answered`.
        case read(token: UInt64, Query)
        /// Have the cache keep this, in one transaction and before anything that follows; answered
        /// by `stored`. Not to be done where `waits` says so: after another one failed.
        case store(token: UInt64, [StoreWrite])
        /// Ask the origin; answered by `fetched`.
        case fetch(token: UInt64, HistoryQuery)
        /// Ask for the feed of a conversation; answered by `subscribed`, in each generation.
        case subscribe(String)
        case unsubscribe(String)
        /// Ask to be told of conversations that come into a user's list or leave it; answered by
        /// `subscribedList`, whenever the feed begins to tell.
        case subscribeList(user: String)
        case unsubscribeList(user: String)
        /// The log has lost what was taken from it at this head; answered by `fetched`.
        case disown(token: UInt64, Head, conversation: String)
        /// Ask the upstream for a write; answered by `performed`.
        case perform(token: UInt64, Operation, Caller)
        /// Tell all gateways' watchers; comes back by the feed.
        case publish(FeedEvent)
    }

    /// What a token is waited for.
    enum Pending {
        case load(String)
        /// The same for a stream that is in memory and lacks its last message.
        case refresh(String)
        /// The answer goes into the reply to the call.
        case answer(Call)
        /// The same for `findBoundaries`, which asked for places up to this head.
        case boundaries(Call, head: Head)
        case write(Call)
        /// The cache was told to keep something of these.
        case store([Stream])
        /// The cache has dropped something, and is asked for what it holds.
        case reload(Stream, beginning: Int)
        /// The first of two answers.
        case shown(Call)
        /// Where the message with the id of the call's anchor is.
        case place(Call, id: String, field: String)
        /// Whether the cache saw what a holder says.
        case proof(FetchQueue.Subject, HeadProof)
        case fetch(FetchQueue.Question)
    }

    package internal(set) var limits: Limits
    /// How logs that live elsewhere are followed; nil where the store is the origin.
    let sync: SyncOptions?
    let server: ServerIdentity
    /// Tells who a client is; replaced when the operator's keys change.
    package var authenticator: any Authenticator
    /// Begins the public number of every session, so that numbers of two processes differ.
    let instance: String

    @exclusivity(unchecked) package internal(set) var now: Timestamp
    var sessions: [SessionID: Session] = [:]
    var sessionsByUser: [ID: [Session]] = [:]
    var admission = Admission()
    /// Those who watch their list of conversations.
    var listWatchers: [SessionID: Session] = [:]
    var streams: [ID: Stream] = [:]
    var pending: [UInt64: Pending] = [:]
    var timers = TimerWheel()
    /// What the hot tails of all streams take, or somewhat more.
    var hotBytes = 0
    /// Since when the upstream is in its state, for clients.
    var upstreamState: UpstreamState = .online
    var upstreamSince: Timestamp
    var drain: Drain?
    var nextEviction: Timestamp
    let startedAt: Timestamp

    // For logs that live elsewhere.

    /// The upstream's link is up.
    var isLinked = false
    var hasBeenLinked = false
    /// Since when the upstream's link is down, from the start on; nil while it is up, and where
    /// the store is the origin.
    package internal(set) var unlinkedSince: Timestamp?
    /// Watched streams that have not come to the present since their feed broke, and whose
    /// subscribers were not told so by name.
    var unsettled: [ID: Stream] = [:]
    var isUpstreamToBeTold = false
    /// Streams with something that time decides.
    var watchful: [ID: Stream] = [:]
    /// What the origin is asked.
    var fetches: FetchQueue
    /// What the cache is to keep at the end of the turn.
    var writer: ReplicaWriter
    var nextVerification: Timestamp
    /// The lists that are watched, by user.
    var listings: [ID: Listing] = [:]
    /// How often a list was read.
    var listReadings = 0

    private(set) var nextToken: UInt64 = 0
    private var actions: [Action] = []
    @exclusivity(unchecked) private var dirty: [Session] = []
    /// Slow readers with more in their outboxes than the soft limit, oldest first.
    private(set) var overfull: [Session] = []
    private var closes: [(SessionID, CloseCode)] = []
    private var pressed: [Session] = []
    /// Sessions that are not to be read any more, or again.
    var throttles: [(SessionID, Bool)] = []
    /// Sessions that wait with requests, and have taken some of what they were sent.
    var resumable: [Session] = []
    /// Which conversations speak, and when.
    @exclusivity(unchecked) var pacing: Pacing

    @exclusivity(unchecked) package internal(set) var books = Books()
    var counters = Figures()

    /// - Parameter instance: some letters and digits that no other process uses.
    package init(
        limits: Limits, server: ServerIdentity, authenticator: any Authenticator, instance: String,
        sync: SyncOptions? = nil, at now: Timestamp
    ) {
        self.limits = limits
        pacing = Pacing(limits)
        self.sync = sync
        startedAt = now
        writer = ReplicaWriter(trimAfter: sync?.trimAfter, at: now)
        nextVerification = now.adding(sync?.verifyInterval ?? 0)
        fetches = FetchQueue(instance: instance)
        if sync != nil {
            upstreamState = .syncing
            unlinkedSince = now
        }
        self.server = server
        self.authenticator = authenticator
        self.instance = instance
        self.now = now
        upstreamSince = now
        nextEviction = now
        timers.advance(to: now)
    }

    // MARK: - What goes out

    /// Ends the turn: what the changes of the turn have to say is encoded and queued, and readers
    /// that fell behind are shed.
    /// - Parameter instant: the same moment on a clock that never jumps, for pacing.
    package func endTurn(at now: Timestamp, instant: Duration) {
        self.now = now
        pacing.advance(to: instant)
        lookAround()
        goOn()
        for stream in pacing.takeDue(isDraining: drain != nil) {
            flush(stream)
            announce(stream)
            releasePromises(stream)
        }
        if mirrors {
            if isUpstreamToBeTold {
                isUpstreamToBeTold = false
                tellUpstream()
            }
            saveWrites()
            sendFetches()
        }
        relieve()
    }

    /// The actions decided since the last call, oldest first.
    package func takeActions() -> [Action] {
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    /// The sessions that have frames to send and whose sockets take some.
    package func takeDirtySessions() -> [Session] {
        guard !dirty.isEmpty else { return [] }
        var taken: [Session] = []
        swap(&taken, &dirty)
        dirty.reserveCapacity(taken.count)
        var isReady = true
        for session in taken {
            session.isDirty = false
            isReady = isReady && session.isReady
        }
        return isReady ? taken : taken.filter(\.isReady)
    }

    /// Sessions with more in their outboxes than the soft limit, whose sockets have not been tried
    /// in this turn.
    package func takePressedSessions() -> [Session] {
        guard !pressed.isEmpty else { return [] }
        defer { pressed.removeAll(keepingCapacity: true) }
        var seen: Set<SessionID> = []
        return pressed.filter { seen.insert($0.id).inserted }
    }

    /// Sessions whose sockets did not take all that they were given.
    package func blockedSessions() -> [SessionID] {
        sessions.values.filter(\.isBlocked).map(\.id)
    }

    /// Connections to close, after their outboxes were sent.
    package func takeCloses() -> [(SessionID, CloseCode)] {
        defer { closes.removeAll(keepingCapacity: true) }
        return closes
    }

    /// Sessions that ask for too much, whose sockets are not to be read from now on (true), or
    /// again (false).
    package func takeThrottles() -> [(SessionID, Bool)] {
        guard !throttles.isEmpty else { return [] }
        defer { throttles.removeAll(keepingCapacity: true) }
        return throttles
    }

    /// Hands the session's oldest frames to `write`, about `limit` bytes, as one write of its
    /// socket.
    /// - Returns: whether more is queued.
    package func take(_ session: Session, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        books.written +=
            session.outbox.takeSole(write) ?? session.outbox.take(limit, write)
        session.lastSent = now
        noteRoom(session)
        return !session.outbox.isEmpty
    }

    /// The same of the session with this number; false if there is none.
    package func take(_ id: SessionID, _ limit: Int, _ write: (Frame) -> Void) -> Bool {
        sessions[id].map { take($0, limit, write) } ?? false
    }

    /// The socket did not take all that it was given: `unsent` bytes wait in the library.
    package func blocked(_ id: SessionID, unsent: Int) {
        guard let session = sessions[id] else { return }
        session.isBlocked = true
        session.outbox.bytesInFlight = unsent
        relieve(session)
    }

    /// The socket took bytes that had waited in the library; `unsent` are left.
    package func progressed(_ id: SessionID, unsent: Int, at now: Timestamp) {
        guard let session = sessions[id] else { return }
        self.now = now
        session.lastProgress = now
        session.outbox.bytesInFlight = unsent
        guard unsent == 0 else { return }
        session.isBlocked = false
        noteRoom(session)
        if !session.outbox.isEmpty { mark(session) }
    }

    /// Says what waits for slow readers in fewer bytes. Those who stopped together pass their
    /// limits together, and nobody else is to wait for all of them; who is beyond the hard limit is
    /// not put off.
    private func relieve() {
        for session in dirty where session.isBlocked || session.isInTransit {
            if session.outbox.backlog > limits.outboxHard {
                relieve(session)
            } else if session.isBlocked, isOverfull(session), !session.isToBeRelieved {
                session.isToBeRelieved = true
                overfull.append(session)
            }
        }
        guard !overfull.isEmpty else { return }
        for session in overfull.prefix(Self.reliefsPerTurn) {
            session.isToBeRelieved = false
            if session.isBlocked { relieve(session) }
        }
        overfull.removeFirst(min(Self.reliefsPerTurn, overfull.count))
    }

    /// To shed one walks through hundreds of events.
    private static let reliefsPerTurn = 8

    /// Says what waits for a slow reader in fewer bytes; closes it if even that is too much.
    func relieve(_ session: Session) {
        guard !session.isClosing else { return }
        if session.outbox.backlog > limits.outboxSoft {
            let coalesced = session.outbox.shed(to: limits.outboxSoft, at: now)
            books.coalesced += coalesced
            if coalesced > 0 { counters.shed += 1 }
        }
        if session.outbox.backlog > limits.outboxHard {
            books.discarded += session.outbox.discard()
            close(session, .outboxOverflow)
        }
    }

    // MARK: - For the other files of the engine

    func act(_ action: Action) {
        // Reads see all that was decided before them.
        if mirrors, case .read = action { saveWrites() }
        actions.append(action)
    }

    /// As it is, whatever waits to be written.
    func append(_ action: Action) { actions.append(action) }

    /// A number for a question to the shell.
    func token(for pending: Pending) -> UInt64 {
        nextToken += 1
        self.pending[nextToken] = pending
        return nextToken
    }

    func push(_ session: Session, _ item: Outbox.Item) {
        guard !session.isClosing else { return }
        session.outbox.append(item)
        mark(session)
    }

    /// For frames that are this session's alone and are never shed. Past the soft limit the session
    /// is to be flushed within the turn, and no request of it is answered before it was.
    func push(_ session: Session, _ payload: [UInt8]) {
        push(session, .barrier(Frame(payload)))
        guard session.outbox.backlog > limits.outboxSoft else { return }
        if session.isBlocked { relieve(session) } else { pressed.append(session) }
    }

    /// For an event that is shared by its receivers.
    func push(_ session: Session, _ event: Broadcast) {
        guard !session.isClosing else { return }
        if event.isAboutList {
            if session.listReads > 0 {
                session.heldListEvents.removeAll { $0.conversation == event.conversation }
                return session.heldListEvents.append(event)
            }
            let shown = session.shown.removeValue(forKey: event.conversation)
            if let shown, event.shows(shown) { return }
        }
        books.accepted += event.deltas
        event.ledger?.books.accepted += event.deltas
        push(session, .event(event))
    }

    /// For a part of a stream, to all who watch it.
    func push(_ event: Broadcast, to subscribers: [Stream.Subscriber]) {
        var receivers = 0
        for index in subscribers.indices {
            let session = subscribers[index].session
            guard !session.isClosing else { continue }
            session.outbox.append(.event(event))
            mark(session)
            receivers += 1
        }
        books.accepted += event.deltas * receivers
        event.ledger?.books.accepted += event.deltas * receivers
    }

    func mark(_ session: Session) {
        guard !session.isDirty else { return }
        session.isDirty = true
        dirty.append(session)
    }

    /// Closes the connection after what it is owed was sent; nothing more is queued for it.
    func close(_ session: Session, _ code: CloseCode) {
        guard !session.isClosing else { return }
        session.isClosing = true
        forget(session)
        closes.append((session.id, code))
        counters.closes[code, default: 0] += 1
    }

    /// Takes the session out of everything that would push to it.
    func forget(_ session: Session) {
        for subscription in session.subscriptions.reversed() { subscription.stream.remove(session) }
        unwatchList(session)
        session.held.removeAll()
        session.postponed.removeAll()
        session.heldListEvents.removeAll()
        session.shown.removeAll()
        if let user = session.user {
            sessionsByUser[user.id]?.removeAll { $0 === session }
            if sessionsByUser[user.id]?.isEmpty == true { sessionsByUser[user.id] = nil }
        }
    }
}
