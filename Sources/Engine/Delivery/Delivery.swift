import Chat
import Wire

/// Who is to be written, and what becomes of readers that take too little: every session's outbox,
/// the bytes in flight to its socket, and the accounting of all deltas. Owned by the engine, which
/// closes whom this says is to be closed.
///
/// A session's `lane` is changed here alone. It is *ready* when its outbox has something and its
/// socket takes it; *blocked* when the socket did not take all; *in flight* when the last write is
/// on its way to another loop's socket.
struct Delivery {
    /// One reader's part. With thousands of readers each of them is in no cache, and what a
    /// delivery costs is how many lines of memory it asks for: this stands together.
    struct Lane {
        fileprivate(set) var outbox = Outbox()
        /// It stands in the list of sessions that have something to send.
        fileprivate var isDirty = false
        /// Its socket did not take all that it was given.
        fileprivate(set) var isBlocked = false
        /// What it was given last is on its way to the loop of its socket.
        fileprivate(set) var isInFlight = false
        /// It stands in the list of sessions whose requests go on.
        fileprivate var isResumable = false
        /// Its outbox waits to be shed.
        fileprivate var isToBeShed = false
        /// When something was last written to it.
        fileprivate(set) var lastSent: Timestamp

        init(at now: Timestamp) { lastSent = now }

        /// It has frames to send, and its socket takes some.
        var isReady: Bool { !isBlocked && !isInFlight && !outbox.isEmpty }
    }

    /// Deltas of all sessions, those of the queues left out.
    private(set) var accounting = Accounting()
    /// Times that a slow reader's events became a gap.
    private(set) var shedCount = 0
    private var softLimit: Int
    private var hardLimit: Int
    private var dirty: [Session] = []
    /// Slow readers with more in their outboxes than the soft limit, oldest first.
    private var overfull: [Session] = []
    /// Sessions with more than that whose sockets have not been tried in this turn.
    private var toFlush: [Session] = []
    /// Sessions that wait with requests, and have taken some of what they were sent.
    private var resumable: [Session] = []

    /// To shed one walks through hundreds of events.
    private static let shedsPerTurn = 8

    private let journal: Journal?

    init(_ limits: Limits, _ journal: Journal? = nil) {
        self.journal = journal
        softLimit = limits.outboxSoft
        hardLimit = limits.outboxHard
    }

    /// The limits were reloaded.
    mutating func adopt(_ limits: Limits) {
        softLimit = limits.outboxSoft
        hardLimit = limits.outboxHard
    }

    /// Whether there is something to do in the next turn: outboxes that are to be shed, and
    /// sessions whose requests can go on.
    var hasMore: Bool { !overfull.isEmpty || resumable.contains { !isOverfull($0) } }

    /// More waits for the session than it is to have waiting.
    func isOverfull(_ session: Session) -> Bool { session.lane.outbox.backlog > softLimit }

    // MARK: - What is queued

    mutating func push(_ session: Session, _ item: Outbox.Item) {
        guard !session.isClosing else { return }
        session.lane.outbox.append(item)
        mark(session)
    }

    /// For frames that are this session's alone and are never shed. Past the soft limit the session
    /// is to be flushed within the turn, and no request of it is answered before it was.
    /// - Returns: whether it is to be closed.
    mutating func push(_ session: Session, own frame: Frame, at now: Timestamp) -> Bool {
        push(session, .barrier(frame))
        guard isOverfull(session) else { return false }
        if session.lane.isBlocked { return shed(session, at: now) }
        toFlush.append(session)
        return false
    }

    /// For an event that is shared by its receivers.
    mutating func push(_ session: Session, _ event: Broadcast) {
        accounting.accepted += event.deltas
        event.accounting?.deltas.accepted += event.deltas
        push(session, .event(event))
    }

    /// For a part of a stream, to all who watch it.
    mutating func push(_ event: Broadcast, to subscribers: [Stream.Subscriber]) {
        var receivers = 0
        for index in subscribers.indices {
            let session = subscribers[index].session
            guard !session.isClosing else { continue }
            session.lane.outbox.append(.event(event))
            mark(session)
            receivers += 1
        }
        accounting.accepted += event.deltas * receivers
        event.accounting?.deltas.accepted += event.deltas * receivers
    }

    private mutating func mark(_ session: Session) {
        guard !session.lane.isDirty else { return }
        session.lane.isDirty = true
        dirty.append(session)
    }

    /// Drops what is queued for the session.
    mutating func discard(_ session: Session, at now: Timestamp) {
        journal?.discarded(session, at: now)
        accounting.discarded += session.lane.outbox.discard()
    }

    // MARK: - What is written

    /// The sessions that have frames to send and whose sockets take some.
    mutating func takeReady() -> [Session] {
        guard !dirty.isEmpty else { return [] }
        var taken: [Session] = []
        swap(&taken, &dirty)
        dirty.reserveCapacity(taken.count)
        var isReady = true
        for session in taken {
            session.lane.isDirty = false
            isReady = isReady && session.lane.isReady
        }
        return isReady ? taken : taken.filter(\.lane.isReady)
    }

    /// Those that are to be flushed before more is answered, each once.
    mutating func takeToFlush() -> [Session] {
        guard !toFlush.isEmpty else { return [] }
        defer { toFlush.removeAll(keepingCapacity: true) }
        var seen: Set<SessionID> = []
        return toFlush.filter { seen.insert($0.id).inserted }
    }

    /// Hands the session's oldest frames to `write`, about `limit` bytes.
    /// - Returns: whether more is queued.
    mutating func take(
        _ session: Session, _ limit: Int, at now: Timestamp, _ write: (Frame) -> Void
    ) -> Bool {
        let waited = journal == nil ? .none : session.lane.outbox.oldest
        accounting.written +=
            session.lane.outbox.takeSole(write) ?? session.lane.outbox.take(limit, write)
        journal?.wrote(session, from: waited, at: now)
        session.lane.lastSent = now
        noteRoom(session)
        return !session.lane.outbox.isEmpty
    }

    /// The same for a socket of another loop; `landed` tells what became of it.
    mutating func handOver(
        _ session: Session, _ limit: Int, at now: Timestamp, _ write: (Frame) -> Void
    ) {
        guard !session.lane.outbox.isEmpty else { return }
        var bytes = 0
        session.lane.isInFlight = true
        _ = take(session, limit, at: now) { frame in
            bytes += frame.bytes.count
            write(frame)
        }
        session.lane.outbox.bytesInFlight += bytes
    }

    // MARK: - What sockets say

    /// The socket did not take all that it was given: `unsent` bytes wait in the library.
    /// - Returns: whether the session is to be closed.
    mutating func blocked(_ session: Session, unsent: Int, at now: Timestamp) -> Bool {
        session.lane.isBlocked = true
        session.lane.outbox.bytesInFlight = unsent
        return shed(session, at: now)
    }

    /// The socket took bytes that had waited in the library; `unsent` are left.
    mutating func progressed(_ session: Session, unsent: Int) {
        session.lane.outbox.bytesInFlight = unsent
        guard unsent == 0 else { return }
        session.lane.isBlocked = false
        noteRoom(session)
        if !session.lane.outbox.isEmpty { mark(session) }
    }

    /// The other loop has given the session's bytes to its socket, which did not take `unsent` of
    /// them.
    /// - Returns: whether the session is to be closed.
    mutating func landed(_ session: Session, unsent: Int, at now: Timestamp) -> Bool {
        session.lane.isInFlight = false
        session.lane.outbox.bytesInFlight = unsent
        guard !session.isClosing else { return false }
        session.lane.isBlocked = unsent > 0
        if session.lane.isBlocked { return shed(session, at: now) }
        noteRoom(session)
        if !session.lane.outbox.isEmpty { mark(session) }
        return false
    }

    // MARK: - Flow control

    /// Says what waits for slow readers in fewer bytes, at the end of a turn. Those who stopped
    /// together pass their limits together, and nobody else is to wait for all of them; who is
    /// beyond the hard limit is not put off.
    /// - Returns: those that are to be closed.
    mutating func shedSlowReaders(at now: Timestamp) -> [Session] {
        var closing: [Session] = []
        for session in dirty where session.lane.isBlocked || session.lane.isInFlight {
            if session.lane.outbox.backlog > hardLimit {
                if shed(session, at: now) { closing.append(session) }
            } else if session.lane.isBlocked, isOverfull(session), !session.lane.isToBeShed {
                session.lane.isToBeShed = true
                overfull.append(session)
            }
        }
        guard !overfull.isEmpty else { return closing }
        for session in overfull.prefix(Self.shedsPerTurn) {
            session.lane.isToBeShed = false
            if session.lane.isBlocked, shed(session, at: now) { closing.append(session) }
        }
        overfull.removeFirst(min(Self.shedsPerTurn, overfull.count))
        return closing
    }

    /// Says what waits for a slow reader in fewer bytes.
    /// - Returns: whether even that is too much, and the session is to be closed.
    private mutating func shed(_ session: Session, at now: Timestamp) -> Bool {
        guard !session.isClosing else { return false }
        if session.lane.outbox.backlog > softLimit {
            let waiting = session.lane.outbox.backlog
            let coalesced = session.lane.outbox.shed(to: softLimit, at: now) {
                journal?.shed(session, $0, $1, from: $2, waiting: waiting, at: now)
            }
            accounting.coalesced += coalesced
            session.coalesced += coalesced
            if coalesced > 0 { shedCount += 1 }
        }
        guard session.lane.outbox.backlog > hardLimit else { return false }
        discard(session, at: now)
        return true
    }

    // MARK: - Backpressure

    /// The session's socket has taken something: requests that were put off may go on.
    private mutating func noteRoom(_ session: Session) {
        guard !session.postponed.isEmpty, !session.lane.isResumable, !isOverfull(session) else {
            return
        }
        session.lane.isResumable = true
        resumable.append(session)
    }

    /// The sessions whose requests may go on.
    mutating func takeResumable() -> [Session] {
        guard !resumable.isEmpty else { return [] }
        defer { resumable.removeAll(keepingCapacity: true) }
        for session in resumable { session.lane.isResumable = false }
        return resumable
    }
}
