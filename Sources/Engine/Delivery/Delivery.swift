import Chat
import Wire

/// Outboxes and flow control of all sessions: which sockets to write, the bytes in flight to each,
/// and the accounting of all deltas. Owned by the engine, which closes the sessions that this type
/// returns.
///
/// Only this type changes a session's `lane`. A lane is *ready* if its outbox has frames and its
/// socket takes more; *blocked* if the socket did not take everything; *in flight* while the last
/// write is on its way to a socket of another loop.
struct Delivery {
    /// The delivery state of one reader, kept together in memory: with thousands of readers none is
    /// in the CPU cache, and a delivery costs as much as the cache lines it touches.
    struct Lane {
        fileprivate(set) var outbox = Outbox()
        /// Whether it is in `dirty`.
        fileprivate var isDirty = false
        /// Its place in `sliced`; 0 if it does not wait there. An entry at another place is void.
        fileprivate var place = 0
        /// Its socket did not take everything that was written.
        fileprivate(set) var isBlocked = false
        /// Its last write is on its way to another loop.
        fileprivate(set) var isInFlight = false
        /// Whether it is in `resumable`.
        fileprivate var isResumable = false
        /// Whether it is in `overfull`.
        fileprivate var isToBeShed = false
        /// It is written until it is below half of the soft limit.
        fileprivate var isToBeFlushed = false
        /// When a large reply, or a postponed request, was first found behind more than the soft
        /// limit.
        fileprivate var overfullSince: Timestamp?
        /// When a frame was last written to it.
        fileprivate(set) var lastSent: Timestamp

        init(at now: Timestamp) { lastSent = now }

        /// It has frames to send, and its socket takes more.
        var isReady: Bool { !isBlocked && !isInFlight && !outbox.isEmpty }
    }

    /// Deltas of all sessions, without those still queued.
    private(set) var accounting = Accounting()
    /// How often a slow reader's events became a gap.
    private(set) var shedCount = 0
    private var softLimit: Int
    private var hardLimit: Int
    private var totalLimit: Int
    /// The readers whose sockets are full.
    private var stuck = Backlogs()
    private var dirty: [Session] = []
    /// A session in `dirty` has more than one write: the next turn goes on with it.
    private var isLeft = false
    /// Sessions with much to write, and readers of an event to many: each turn writes a slice.
    private(set) var sliced = WriteQueue()
    private let slice: WriteSlice
    /// Slow readers above the soft limit that wait to be shed, oldest first.
    private var overfull: [Session] = []
    /// Sessions above the soft limit that got a large frame of their own since the last writes.
    private var toFlush: [Session] = []
    /// Sessions with postponed requests whose sockets have taken something since.
    private var resumable: [Session] = []

    /// Shedding one session walks through hundreds of events.
    private static let shedsPerTurn = 8

    private let journal: Journal?

    init(_ limits: Limits, _ journal: Journal? = nil) {
        self.journal = journal
        softLimit = limits.outboxSoft
        hardLimit = limits.outboxHard
        totalLimit = limits.outboxTotal
        slice = limits.writeSlice
    }

    /// The limits were reloaded.
    mutating func adopt(_ limits: Limits) {
        softLimit = limits.outboxSoft
        hardLimit = limits.outboxHard
        totalLimit = limits.outboxTotal
    }

    /// Whether the next turn already has work: outboxes to write or to shed, or sessions whose
    /// requests can go on.
    var hasMore: Bool {
        isLeft || !sliced.isEmpty || !overfull.isEmpty || resumable.contains { !isOverfull($0) }
    }

    /// Backpressure: the session is above its soft limit.
    func isOverfull(_ session: Session) -> Bool { session.lane.outbox.backlog > softLimit }

    // MARK: - Queueing

    mutating func push(_ session: Session, _ item: Outbox.Item) {
        guard !session.isClosing else { return }
        session.lane.outbox.append(item)
        mark(session)
    }

    /// Queues a frame for this session alone, which is never shed. With a large one above the soft
    /// limit the session is among those that `takeToFlush` returns.
    /// - Returns: whether the session must be closed.
    mutating func push(_ session: Session, own frame: Frame, at now: Timestamp) -> Bool {
        push(session, .barrier(frame))
        guard isOverfull(session) else { return false }
        if session.lane.isBlocked { return shed(session, at: now) }
        guard frame.count > min(slice.small, softLimit) else { return false }
        session.lane.overfullSince = session.lane.overfullSince ?? now
        toFlush.append(session)
        return false
    }

    /// Queues an event that its receivers share.
    mutating func push(_ session: Session, _ event: Broadcast) {
        accounting.accepted += event.deltas
        event.accounting?.deltas.accepted += event.deltas
        push(session, .event(event))
    }

    /// Queues a part of a stream for all its subscribers.
    /// - Returns: if it is written in slices, the place in `sliced` up to which the next message
    ///   waits: theirs, or as far as the queue is long.
    @discardableResult
    mutating func push(_ event: Broadcast, to subscribers: [Stream.Subscriber]) -> Int? {
        var receivers = 0
        let isCrowd = subscribers.count > slice.crowd
        for index in subscribers.indices {
            let session = subscribers[index].session
            guard !session.isClosing else { continue }
            session.lane.outbox.append(.event(event))
            if isCrowd { markSliced(session) } else { mark(session) }
            receivers += 1
        }
        accounting.accepted += event.deltas * receivers
        event.accounting?.deltas.accepted += event.deltas * receivers
        if isCrowd { return sliced.last }
        // Their outboxes join the queue at the end of the turn.
        return slice.isSmall(event.size) ? nil : sliced.last + receivers
    }

    /// Its next write may wait for its turn, if it can be written at all: a slow reader is shed by
    /// way of `dirty`.
    private mutating func markSliced(_ session: Session) {
        guard !session.lane.isBlocked, !session.lane.isInFlight, !isUrgent(session) else {
            return mark(session)
        }
        guard !session.lane.isDirty, session.lane.place == 0 else { return }
        session.lane.place = sliced.append(session)
    }

    private mutating func mark(_ session: Session) {
        guard !session.lane.isDirty else { return }
        session.lane.isDirty = true
        dirty.append(session)
    }

    /// The session is to be closed: what is queued for it is written in this turn.
    mutating func hasten(_ session: Session) { mark(session) }

    /// Drops what is queued for the session.
    mutating func discard(_ session: Session, at now: Timestamp) {
        journal?.discarded(session, at: now)
        stuck.remove(session)
        accounting.discarded += session.lane.outbox.discard()
    }

    // MARK: - Writing

    /// The sessions to write in this turn: those that have frames to send and whose sockets take
    /// more, and a slice of those that take turns.
    mutating func takeReady(at now: Timestamp) -> [Session] {
        isLeft = false
        beginAnswer()
        var ready = takeDirty()
        guard !sliced.isEmpty else { return ready }
        var cost = 0
        while cost < slice.budget, let (session, place) = sliced.removeFirst() {
            guard session.lane.place == place else { continue }
            session.lane.place = 0
            guard session.lane.isReady else { continue }
            let bytes = session.lane.outbox.bytes
            if hasWaited(session, at: now) {
                session.lane.isToBeFlushed = true
                cost += WriteSlice.cost(of: bytes, downTo: softLimit / 2)
            } else {
                cost += WriteSlice.cost(of: bytes)
            }
            ready.append(session)
        }
        return ready
    }

    /// Whether a reply to it, or a request of it, has waited for long, since more comes for it than
    /// its turns write. It is then written down to half of the soft limit, so that it is answered
    /// however much comes.
    private func hasWaited(_ session: Session, at now: Timestamp) -> Bool {
        guard session.lane.outbox.bytes > softLimit else { return false }
        guard let start = session.lane.overfullSince else {
            if !session.postponed.isEmpty { session.lane.overfullSince = now }
            return false
        }
        return now.milliseconds - start.milliseconds >= Self.patience
    }

    /// Milliseconds that replies and requests wait while others are written.
    private static let patience: Int64 = 100

    private mutating func takeDirty() -> [Session] {
        guard !dirty.isEmpty else { return [] }
        var taken: [Session] = []
        swap(&taken, &dirty)
        dirty.reserveCapacity(taken.count)
        var isWhole = true
        for session in taken {
            session.lane.isDirty = false
            isWhole = isWhole && session.lane.isReady && isPrompt(session)
        }
        if isWhole { return taken }
        return taken.filter { session in
            guard session.lane.isReady else { return false }
            if isPrompt(session) { return true }
            if session.lane.place == 0 { session.lane.place = sliced.append(session) }
            return false
        }
    }

    /// Whether what waits for it is written in any turn. Where it waits for its turn as well, that
    /// entry is void.
    private func isPrompt(_ session: Session) -> Bool {
        guard
            slice.isSmall(session.lane.outbox.bytes) || session.isClosing || isUrgent(session)
        else { return false }
        session.lane.place = 0
        return true
    }

    /// What waits for it is written on in this turn: after a read with a large answer, or if a
    /// large reply or a postponed request has waited for long, down to half of the soft limit; and
    /// where it is so much that the session could be closed at the hard limit for having waited.
    func isUrgent(_ session: Session) -> Bool {
        let limit = session.lane.isToBeFlushed ? softLimit / 2 : hardLimit / 2
        return session.lane.outbox.bytes > limit
    }

    /// A read is about to be answered: what was queued so far is none of its answer.
    mutating func beginAnswer() { toFlush.removeAll(keepingCapacity: true) }

    /// The sessions to flush after a read, each once: nobody else has its large answer, so that it
    /// should not lie in memory, and the time counts as the read's. The replies to writes wait for
    /// their slices as events do: many come in one turn, and no budget is theirs.
    mutating func takeToFlush() -> [Session] {
        guard !toFlush.isEmpty else { return [] }
        defer { toFlush.removeAll(keepingCapacity: true) }
        var seen: Set<SessionID> = []
        let sessions = toFlush.filter { seen.insert($0.id).inserted }
        for session in sessions { session.lane.isToBeFlushed = true }
        return sessions
    }

    /// Passes the session's oldest frames to `write`, about `limit` bytes.
    /// - Returns: whether more is queued.
    mutating func take(
        _ session: Session, _ limit: Int, at now: Timestamp, _ write: (Frame) -> Void
    ) -> Bool {
        let waited = journal == nil ? .none : session.lane.outbox.oldest
        accounting.written +=
            session.lane.outbox.takeSole(write) ?? session.lane.outbox.take(limit, write)
        journal?.wrote(session, from: waited, at: now)
        session.lane.lastSent = now
        noteFlushed(session)
        noteRoom(session)
        return !session.lane.outbox.isEmpty
    }

    /// As `take`, for a socket of another loop, which reports the result by `landed`.
    mutating func handOver(
        _ session: Session, _ limit: Int, at now: Timestamp, _ write: (Frame) -> Void
    ) {
        guard !session.lane.outbox.isEmpty else { return }
        var bytes = 0
        session.lane.isInFlight = true
        _ = take(session, limit, at: now) { frame in
            bytes += frame.count
            write(frame)
        }
        session.lane.outbox.bytesInFlight += bytes
    }

    /// The rest of what is queued for the session is written in the next turn.
    mutating func leave(_ session: Session) {
        mark(session)
        isLeft = true
    }

    /// Half of the soft limit is room for what comes until its requests are taken up.
    private func noteFlushed(_ session: Session) {
        guard session.lane.outbox.backlog <= softLimit / 2 else { return }
        session.lane.isToBeFlushed = false
        session.lane.overfullSince = nil
    }

    // MARK: - Reports of sockets

    /// The socket did not take everything: `unsent` bytes wait in the library.
    /// - Returns: whether the session must be closed.
    mutating func blocked(_ session: Session, unsent: Int, at now: Timestamp) -> Bool {
        session.lane.isBlocked = true
        session.lane.outbox.bytesInFlight = unsent
        stuck.note(session)
        return shed(session, at: now)
    }

    /// The socket took bytes that had waited in the library; `unsent` are still waiting.
    mutating func progressed(_ session: Session, unsent: Int) {
        session.lane.outbox.bytesInFlight = unsent
        guard unsent == 0 else { return stuck.note(session) }
        session.lane.isBlocked = false
        stuck.remove(session)
        noteRoom(session)
        if !session.lane.outbox.isEmpty { mark(session) }
    }

    /// The other loop wrote the session's bytes to its socket, which did not take `unsent` of them.
    /// - Returns: whether the session must be closed.
    mutating func landed(_ session: Session, unsent: Int, at now: Timestamp) -> Bool {
        session.lane.isInFlight = false
        session.lane.outbox.bytesInFlight = unsent
        guard !session.isClosing else { return false }
        session.lane.isBlocked = unsent > 0
        if session.lane.isBlocked {
            stuck.note(session)
            return shed(session, at: now)
        }
        stuck.remove(session)
        noteFlushed(session)
        noteRoom(session)
        if !session.lane.outbox.isEmpty { mark(session) }
        return false
    }

    // MARK: - Flow control

    /// Sheds slow readers at the end of a turn, a few at a time: readers that stop together pass
    /// their limits together, and shedding all at once would delay everybody else. A session above
    /// the hard limit is shed at once.
    /// - Returns: the sessions to close.
    mutating func shedSlowReaders(at now: Timestamp) -> [Session] {
        var closing: [Session] = []
        for session in dirty where session.lane.isBlocked || session.lane.isInFlight {
            if session.lane.isBlocked { stuck.note(session) }
            if session.lane.outbox.backlog > hardLimit {
                if shed(session, at: now) { closing.append(session) }
            } else if session.lane.isBlocked, isOverfull(session), !session.lane.isToBeShed {
                session.lane.isToBeShed = true
                overfull.append(session)
            }
        }
        for session in overfull.prefix(Self.shedsPerTurn) {
            session.lane.isToBeShed = false
            if session.lane.isBlocked, shed(session, at: now) { closing.append(session) }
        }
        overfull.removeFirst(min(Self.shedsPerTurn, overfull.count))
        if stuck.bytes > totalLimit { closing += relieve(at: now) }
        return closing
    }

    /// Brings what waits for all readers that take nothing below seven eighths of its limit: the
    /// largest are shed, and closed where what is left is more than an equal share.
    /// - Returns: the sessions to close.
    private mutating func relieve(at now: Timestamp) -> [Session] {
        let share = totalLimit / max(1, stuck.count)
        var closing: [Session] = []
        for session in stuck.largestFirst {
            guard stuck.bytes > totalLimit / 8 * 7 else { break }
            if shed(session, to: 0, share, at: now) { closing.append(session) }
        }
        return closing
    }

    /// Sheds the session's outbox if it is above the soft limit.
    /// - Returns: whether it is still above the hard limit, so that the session must be closed.
    private mutating func shed(_ session: Session, at now: Timestamp) -> Bool {
        shed(session, to: softLimit, hardLimit, at: now)
    }

    private mutating func shed(
        _ session: Session, to limit: Int, _ hardLimit: Int, at now: Timestamp
    ) -> Bool {
        guard !session.isClosing else { return false }
        if session.lane.outbox.backlog > limit {
            let waiting = session.lane.outbox.backlog
            let coalesced = session.lane.outbox.shed(to: limit, at: now) {
                journal?.shed(session, $0, $1, from: $2, waiting: waiting, at: now)
            }
            accounting.coalesced += coalesced
            session.coalesced += coalesced
            if coalesced > 0 { shedCount += 1 }
            if session.lane.isBlocked { stuck.note(session) }
        }
        guard session.lane.outbox.backlog > hardLimit else { return false }
        discard(session, at: now)
        return true
    }

    // MARK: - Backpressure

    /// The session's socket took something: its postponed requests may go on.
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
