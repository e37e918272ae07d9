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
    /// Those who watch their list of conversations.
    var listWatchers: [SessionID: Session] = [:]
    /// What became of the latest messages; nil where none is kept.
    package let journal: Journal?

    /// The lists that are watched.
    let lists: Lists

    // For those who are told what is unread.

    /// By user.
    var unreadCounts: [ID: UnreadCount] = [:]
    /// Those to be looked at in this turn, and those a little later.
    var unreadTouched: [ID] = []
    var unreadDue: [ID] = []

    // What its machines share.

    let clock: Clock
    let streams: StreamRegistry
    let questions = Questions()
    /// What is written, to whom and when.
    let fanout: Fanout
    /// What is counted, and what the log is yet to be told of.
    let tally = Tally()
    /// Who is connected.
    let connections: Connections
    /// Follows logs that live elsewhere.
    let sync: Sync
    /// What clients ask about conversations.
    let desk: RequestDesk

    /// - Parameter instance: some letters and digits that no other process uses.
    package init(
        limits: Limits, server: ServerIdentity, authenticator: any Authenticator, instance: String,
        sync: SyncOptions? = nil, at now: Timestamp
    ) {
        journal =
            limits.journal > 0
            ? Journal(bytes: limits.journal, age: limits.journalAge, at: now) : nil
        clock = Clock(at: now)
        streams = StreamRegistry(limits, at: now)
        fanout = Fanout(limits, clock, journal)
        connections = Connections(
            limits,
            Connections.House(server: server, authenticator: authenticator, instance: instance),
            fanout, tally, journal)
        self.sync = Sync(
            sync,
            Sync.Shared(
                clock: clock, streams: streams, questions: questions, fanout: fanout,
                tally: tally), instance: instance)
        desk = RequestDesk(connections, self.sync)
        lists = Lists(streams, clock, self.sync)
    }

    package internal(set) var now: Timestamp {
        get { clock.now }
        set { clock.now = newValue }
    }

    package var limits: Limits { connections.limits }

    /// Tells who a client is; replaced when the operator's keys change.
    package var authenticator: any Authenticator {
        get { connections.authenticator }
        set { connections.authenticator = newValue }
    }

    // MARK: - What goes out

    /// Ends the turn: what the changes of the turn have to say is encoded and queued, and readers
    /// that fell behind are shed.
    /// - Parameter instant: the same moment on a clock that never jumps, for pacing.
    /// - Returns: what is to be done. With effects it is to be ended again.
    package func endTurn(at now: Timestamp, instant: Duration) -> Turn {
        self.now = now
        fanout.pacing.advance(to: instant)
        connections.runTimers()
        resumeDeferred()
        takeSteps()
        for stream in fanout.pacing.takeDue(isDraining: isDraining) {
            fanout.flush(stream)
            announce(stream)
            desk.releaseHeldReplies(stream)
        }
        settleTouchedUnread()
        if mirrors {
            if sync.status.takeIsToBeTold() { tellUpstream() }
            takeSteps()
            sync.saveWrites()
            sync.sendFetches { sessions[$0.session] != nil }
        }
        for session in fanout.delivery.shedSlowReaders(at: now) {
            connections.close(session, .outboxOverflow)
        }
        takeSteps()
        var turn = questions.takeDecided()
        guard turn.isOver else { return turn }
        turn.writes = fanout.delivery.takeReady()
        turn.closes = connections.registry.takeCloses()
        turn.throttles = connections.registry.takeThrottles()
        return turn
    }

    /// Sessions whose sockets are not to be read from now on (true), or again (false): to be looked
    /// at between two frames of a turn; the others come with its end.
    package func takeThrottles() -> [(SessionID, Bool)] {
        connections.registry.takeThrottles()
    }

    // MARK: - What can be asked

    /// What is in memory now, for health, metrics and operators.
    package var report: EngineReport {
        var figures = tally.figures
        figures.pacing = fanout.pacing.counters
        figures.shed = fanout.delivery.shedCount
        return EngineReport(
            now: now, sessions: sessions, streams: streams, journal: journal,
            settledBooks: fanout.delivery.accounting, figures: figures, status: sync.status,
            isElsewhere: mirrors, queuedFetches: sync.fetches.queued,
            fetchesInFlight: sync.fetches.inFlight)
    }

    /// Subscribers that were told to forget what they hold since the last call.
    package func takeIncidents() -> [Incident] { tally.takeIncidents() }

    /// Calls of their callers' traces that ended since the last call.
    package func takeTracedCalls() -> [TracedCall] { tally.takeTracedCalls() }

    /// Begins with what no session of another process has.
    package func publicName(of session: SessionID) -> String {
        connections.publicName(of: session)
    }

    // MARK: - For the other files of the engine

    /// Who is connected.
    var sessions: SessionRegistry { _read { yield connections.registry } }

    func push(_ session: Session, _ payload: [UInt8]) { connections.push(session, payload) }

    func push(_ session: Session, _ event: Broadcast) { connections.push(session, event) }

    /// - Parameters: as `Connections.reply` has them.
    func reply(
        _ call: Call, size: Int = 256, rows: Int = 0, people: Int = 0,
        _ result: (inout JSONWriter) -> Void
    ) {
        connections.reply(call, size: size, rows: rows, people: people, result)
    }

    func fail(_ call: Call, _ error: RequestError) { connections.fail(call, error) }

    /// Whether the streams follow logs that live elsewhere.
    var mirrors: Bool { sync.mirrors }

    /// Has the upstream do it.
    func act(_ effect: UpstreamEffect) { questions.act(effect) }

    /// The conversation in memory; the store is asked for it if it is not there.
    func stream(_ conversation: String) -> Stream { desk.stream(conversation) }

    /// Asks the cache, which has all by then that was decided before.
    func read(_ query: Query, for purpose: Questions.Purpose) { sync.read(query, for: purpose) }
}
