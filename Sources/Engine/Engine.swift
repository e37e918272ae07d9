import Chat
import JSON
import Ports
import Wire

/// Decides. Everything that happens to the gateway comes in as a call (a frame, a change of a log,
/// an answer of the store, the passing of time); what is to be done comes out as a `Turn` and as
/// frames in the outboxes of sessions. It has no clock, thread, file or socket, so a simulation
/// runs it as the gateway does. Owned by the loop; not thread-safe.
///
/// The order of a turn: any number of calls, then `endTurn`, whose effects are performed, again and
/// again until there is none; `TurnRunner` does that.
package final class Engine {
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
    /// What the recent changes of all streams take in memory, or somewhat more.
    var recentBytes = 0
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
    private var decided = Decided()
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
    /// - Returns: what is to be done. With effects it is to be ended again.
    package func endTurn(at now: Timestamp, instant: Duration) -> Turn {
        self.now = now
        pacing.advance(to: instant)
        runTimers()
        resumeDeferred()
        for stream in pacing.takeDue(isDraining: drain != nil) {
            flush(stream)
            announce(stream)
            releaseHeldReplies(stream)
        }
        settleTouchedUnread()
        if mirrors {
            if status.takeIsToBeTold() { tellUpstream() }
            saveWrites()
            sendFetches()
        }
        for session in delivery.shedSlowReaders(at: now) { close(session, .outboxOverflow) }
        var turn = decided.take()
        guard turn.isOver else { return turn }
        turn.writes = delivery.takeReady()
        turn.closes = sessions.takeCloses()
        turn.throttles = sessions.takeThrottles()
        return turn
    }

    /// Sessions whose sockets are not to be read from now on (true), or again (false): to be looked
    /// at between two frames of a turn; the others come with its end.
    package func takeThrottles() -> [(SessionID, Bool)] { sessions.takeThrottles() }

    // MARK: - For the other files of the engine

    /// Has the upstream do it.
    func act(_ effect: UpstreamEffect) { decided.append(.upstream(effect)) }

    /// Has the cache keep it.
    func store(_ writes: [StoreWrite], for pending: Pending) {
        decided.append(.store(token: token(for: pending), writes))
    }

    /// Asks the cache, which has all by then that was decided before.
    func read(_ query: Query, for pending: Pending) {
        let token = token(for: pending)
        if mirrors { saveWrites() }
        decided.append(Read(token: token, query: query))
    }

    /// Asks the cache, whatever waits to be written.
    func readAtOnce(_ query: Query, for pending: Pending) {
        decided.append(Read(token: token(for: pending), query: query))
    }

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
