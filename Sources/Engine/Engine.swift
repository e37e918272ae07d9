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
        /// What a user has not read.
        case unread(ID, reading: Int)
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
    @exclusivity(unchecked) var sessions: SessionRegistry
    /// Those who watch their list of conversations.
    var listWatchers: [SessionID: Session] = [:]
    var streams: [ID: Stream] = [:]
    var pending: [UInt64: Pending] = [:]
    /// What the hot tails of all streams take, or somewhat more.
    var hotBytes = 0
    /// How clients see the upstream.
    var status: UpstreamStatus
    var drain: Drain?
    var nextEviction: Timestamp
    /// What became of the latest messages; nil where none is kept.
    package let journal: Journal?

    // For logs that live elsewhere.

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

    // For those who are told what is unread.

    /// By user.
    var unreadCounts: [ID: UnreadCount] = [:]
    /// Those to be looked at in this turn, and those a little later.
    var unreadTouched: [ID] = []
    var unreadDue: [ID] = []

    private(set) var nextToken: UInt64 = 0
    private var actions: [Action] = []
    /// Outboxes, what is in flight, and the accounting.
    @exclusivity(unchecked) var delivery: Delivery
    /// Which conversations speak, and when.
    @exclusivity(unchecked) var pacing: Pacing

    var counters = Figures()

    /// - Parameter instance: some letters and digits that no other process uses.
    package init(
        limits: Limits, server: ServerIdentity, authenticator: any Authenticator, instance: String,
        sync: SyncOptions? = nil, at now: Timestamp
    ) {
        self.limits = limits
        pacing = Pacing(limits)
        self.sync = sync
        journal =
            limits.journal > 0
            ? Journal(bytes: limits.journal, age: limits.journalAge, at: now) : nil
        delivery = Delivery(limits, journal)
        writer = ReplicaWriter(trimAfter: sync?.trimAfter, at: now)
        nextVerification = now.adding(sync?.verifyInterval ?? 0)
        fetches = FetchQueue(instance: instance)
        self.server = server
        self.authenticator = authenticator
        self.instance = instance
        self.now = now
        status = UpstreamStatus(wait: sync?.wait, at: now)
        nextEviction = now
        sessions = SessionRegistry(at: now)
    }

    // MARK: - What goes out

    /// Ends the turn: what the changes of the turn have to say is encoded and queued, and readers
    /// that fell behind are shed.
    /// - Parameter instant: the same moment on a clock that never jumps, for pacing.
    package func endTurn(at now: Timestamp, instant: Duration) {
        self.now = now
        pacing.advance(to: instant)
        runTimers()
        resumeDeferred()
        for stream in pacing.takeDue(isDraining: drain != nil) {
            flush(stream)
            announce(stream)
            releasePromises(stream)
        }
        settleTouchedUnread()
        if mirrors {
            if status.takeIsToBeTold() { tellUpstream() }
            saveWrites()
            sendFetches()
        }
        for session in delivery.shedSlowReaders(at: now) { close(session, .outboxOverflow) }
    }

    /// The actions decided since the last call, oldest first.
    package func takeActions() -> [Action] {
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    /// Connections to close, after their outboxes were sent.
    package func takeCloses() -> [(SessionID, CloseCode)] { sessions.takeCloses() }

    /// Sessions that ask for too much, whose sockets are not to be read from now on (true), or
    /// again (false).
    package func takeThrottles() -> [(SessionID, Bool)] { sessions.takeThrottles() }

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

    /// Closes the connection after what it is owed was sent; nothing more is queued for it.
    func close(_ session: Session, _ code: CloseCode) {
        guard !session.isClosing else { return }
        session.isClosing = true
        journal?.closed(session, code, at: now)
        forget(session)
        sessions.close(session, code)
        counters.closes[code, default: 0] += 1
    }

    /// Takes the session out of everything that would push to it.
    func forget(_ session: Session) {
        for subscription in session.subscriptions.reversed() {
            journal?.left(session, subscription.stream, "closed", at: now)
            subscription.stream.remove(session)
        }
        unwatchList(session)
        endUnread(session)
        session.held.removeAll()
        session.postponed.removeAll()
        session.heldListEvents.removeAll()
        session.shown.removeAll()
        sessions.signOut(session)
    }
}
