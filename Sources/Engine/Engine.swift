import Chat
import Ports
import Wire

/// Decides. Everything that happens to the gateway comes in as a call (a frame, a change of a log,
/// an answer of the store, the passing of time); what is to be done comes out as a `Turn` and as
/// frames in the outboxes of sessions. It has no clock, thread, file or socket, so a simulation
/// runs it as the gateway does. Owned by the loop; not thread-safe.
///
/// The order of a turn: any number of calls, then `endTurn`, whose effects are performed, again and
/// again until there is none; `TurnRunner` does that.
///
/// This is the door: one method an input. What is decided about one matter has a machine of its
/// own, and `Coordinator` brings them together.
package final class Engine {
    /// What the shell asks of delivery, and what it tells of sockets.
    package let sockets: Sockets
    /// Who is connected.
    let connections: Connections
    /// Follows logs that live elsewhere.
    let sync: Sync
    private let machines: Coordinator

    /// - Parameter instance: some letters and digits that no other process uses.
    package init(
        limits: Limits, server: ServerIdentity, authenticator: any Authenticator, instance: String,
        sync: SyncOptions? = nil, at now: Timestamp
    ) {
        let journal =
            limits.journal > 0
            ? Journal(bytes: limits.journal, age: limits.journalAge, at: now) : nil
        let clock = Clock(at: now)
        let fanout = Fanout(limits, clock, journal)
        let tally = Tally()
        connections = Connections(
            limits,
            Connections.House(server: server, authenticator: authenticator, instance: instance),
            fanout, tally, journal)
        self.sync = Sync(
            Sync.Shared(
                options: sync, clock: clock, streams: StreamRegistry(limits, at: now),
                questions: Questions(), fanout: fanout, tally: tally), instance: instance)
        machines = Coordinator(connections, self.sync)
        sockets = Sockets(connections)
    }

    private var fanout: Fanout { sync.fanout }
    var streams: StreamRegistry { sync.streams }
    var questions: Questions { sync.questions }

    package private(set) var now: Timestamp {
        get { sync.clock.now }
        set { sync.clock.now = newValue }
    }

    /// What became of the latest messages; nil where none is kept.
    package var journal: Journal? { connections.journal }

    package var limits: Limits { connections.limits }

    /// Tells who a client is; replaced when the operator's keys change.
    package var authenticator: any Authenticator {
        get { connections.authenticator }
        set { connections.authenticator = newValue }
    }

    // MARK: - Turns

    /// Ends the turn: what the changes of the turn have to say is encoded and queued, and readers
    /// that fell behind are shed.
    /// - Parameter instant: the same moment on a clock that never jumps, for pacing.
    /// - Returns: what is to be done. With effects it is to be ended again.
    package func endTurn(at now: Timestamp, instant: Duration) -> Turn {
        self.now = now
        fanout.pacing.advance(to: instant)
        machines.endTurn()
        var turn = questions.takeDecided()
        guard turn.isOver else { return turn }
        turn.writes = fanout.delivery.takeReady()
        turn.closes = connections.registry.takeCloses()
        turn.throttles = connections.registry.takeThrottles()
        return turn
    }

    /// Sessions whose sockets are not to be read from now on (true), or again (false): to be looked
    /// at between two frames of a turn; the others come with its end.
    package func takeThrottles() -> [(SessionID, Bool)] { connections.registry.takeThrottles() }

    /// The sockets were written at the end of a turn: the conversations with more to say than that
    /// rest for as long as it took them.
    /// - Parameters: as `Pacing.wrote` has them.
    package func wrote(_ sessions: Int, in time: Duration, at instant: Duration) {
        fanout.pacing.wrote(sessions, in: time, at: instant)
    }

    /// When a turn is due though nothing has come in, on the clock of `endTurn`: some conversation
    /// has rested then. Nil if none waits.
    package var nextRelease: Duration? { fanout.pacing.nextRelease }

    /// Whether there is something to do in the next turn that came in before: requests that were
    /// put off and can go on, sessions that are to be looked at, queues that are to be shed.
    package var hasMore: Bool { connections.registry.isBehind || fanout.delivery.hasMore }

    // MARK: - Clients

    /// A WebSocket was accepted.
    /// - Parameters: as `Connections.connected` has them.
    package func connected(
        _ id: SessionID, bearer: String? = nil, from address: String = "", at now: Timestamp
    ) {
        self.now = now
        connections.connected(id, bearer: bearer, from: address)
        machines.takeSteps()
    }

    /// A frame came in.
    package func received(_ id: SessionID, _ frame: RequestFrame, at now: Timestamp) {
        self.now = now
        if let session = connections.admit(frame, from: id) { machines.take(frame, session) }
    }

    /// A pong came.
    package func ponged(_ id: SessionID, at now: Timestamp) { connections.ponged(id, at: now) }

    /// The connection is gone.
    package func closed(_ id: SessionID) {
        connections.closed(id)
        machines.takeSteps()
    }

    /// Closes a user's connections, by the server API.
    /// - Returns: how many there were.
    package func disconnect(user: String, mayComeBack: Bool) -> Int {
        defer { machines.takeSteps() }
        return connections.disconnect(user.id, mayComeBack: mayComeBack)
    }

    /// Begins with what no session of another process has.
    package func publicName(of session: SessionID) -> String {
        connections.publicName(of: session)
    }

    // MARK: - Logs

    /// A batch of the feed, in the order of the logs.
    package func feed(_ events: some Sequence<FeedEvent>, at now: Timestamp) {
        self.now = now
        for event in events {
            machines.feed.take(event)
            machines.takeSteps()
        }
    }

    /// The operation is on its way to the log, until `noteSent` is called with the same token.
    /// Those of its own calls the engine knows; this is for others'.
    package func noteSend(
        _ operation: Operation, token: UInt64, from session: SessionID = 0, trace: String = ""
    ) {
        machines.desk.noteSend(operation, token: token, from: session, trace: trace)
    }

    /// The operation was done, or refused.
    package func noteSent(token: UInt64, _ result: Result<Outcome, RequestError>) {
        machines.desk.noteSent(token: token, result)
    }

    /// The upstream did a write, or refused it.
    package func performed(
        _ token: UInt64, _ result: Result<Outcome, RequestError>, at now: Timestamp
    ) {
        self.now = now
        machines.performed(token, result)
    }

    // MARK: - Logs that live elsewhere

    /// The upstream's link is up, or is not.
    package func linked(_ state: UpstreamState, at now: Timestamp) {
        self.now = now
        machines.linked(state)
    }

    /// The origin has acknowledged: from here on the feed tells of this conversation.
    package func subscribed(_ conversation: String, generation: Int, at now: Timestamp) {
        self.now = now
        sync.subscribed(conversation, generation: generation, reading: machines.lists.readings)
        machines.takeSteps()
    }

    /// The origin has acknowledged: from here on the feed tells what comes into the user's list and
    /// leaves it.
    package func subscribedList(of user: String, at now: Timestamp) {
        self.now = now
        machines.announcer.followed(user.id)
    }

    /// Every subscription of that generation has ended.
    package func lapsed(generation: Int, at now: Timestamp) {
        self.now = now
        machines.lapsed(generation: generation)
    }

    /// The origin has found that this part of the log is damaged, or (nil) that it is whole again.
    package func damaged(_ conversation: String, _ part: String?, at now: Timestamp) {
        self.now = now
        sync.heard(part, of: conversation)
        machines.takeSteps()
    }

    /// The origin has answered.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    package func fetched(
        _ token: UInt64, generation: Int, _ result: Result<HistoryAnswer, RequestError>,
        at now: Timestamp
    ) {
        self.now = now
        machines.fetched(token, generation, result)
    }

    // MARK: - The store

    /// The store answered a read.
    package func answered(
        _ token: UInt64, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        machines.answered(token, result)
    }

    /// Whether somebody waits for what was asked under this token.
    package func isAwaited(_ token: UInt64) -> Bool { questions[token] != nil }

    /// Concludes a read, if that needs no look at the cache.
    /// - Returns: whether it has.
    package func concludeWithoutReading(_ token: UInt64) -> Bool {
        defer { machines.takeSteps() }
        return machines.desk.concludeWithoutReading(token)
    }

    /// Whether the question may be answered at another moment than the others, while the feed goes
    /// on.
    package func mayReadSlow(_ token: UInt64) -> Bool { machines.desk.mayReadSlow(token) }

    /// The cache has dropped something by itself.
    package func trimmed(
        _ conversation: String, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        sync.store.trimmed(conversation, result)
        machines.takeSteps()
    }

    /// The file has taken what it was told, or has not.
    package func stored(_ token: UInt64, _ succeeded: Bool, at now: Timestamp) {
        self.now = now
        sync.store.stored(token, succeeded)
        machines.takeSteps()
    }

    // MARK: - Time

    /// Time has passed; to be called a few times a second.
    package func tick(at now: Timestamp) {
        self.now = now
        machines.tick()
    }

    /// Tokens end by the time of day, which is so many milliseconds ahead of the engine's clock.
    package func adopt(timeOfDayAhead ahead: Int64) { connections.adopt(timeOfDayAhead: ahead) }

    /// Holds everybody to other limits from here on; what was asked for stays paid.
    package func adopt(_ limits: Limits) {
        fanout.adopt(limits)
        streams.adopt(limits)
        connections.adopt(limits)
    }

    /// Begins the drain. New connections are refused from now on.
    /// - Parameters: as `Connections.beginDrain` has them.
    package func beginDrain(
        window: Int64, deadline: Int64, succession: Succession = .beside, at now: Timestamp
    ) {
        self.now = now
        connections.beginDrain(window: window, deadline: deadline, succession)
        machines.takeSteps()
    }

    /// Milliseconds until whoever comes while the gateway drains may come again, nil if it doesn't.
    package var drainedIn: Int64? { connections.drainedIn }

    package var isDraining: Bool { connections.isDraining }

    /// Whether every client was told, sent what it is owed, and closed, or the deadline is over.
    package var isDrained: Bool { connections.isDrained }

    // MARK: - What can be asked

    /// What is in memory now, for health, metrics and operators.
    package var report: EngineReport { EngineReport(of: connections, sync) }

    /// Subscribers that were told to forget what they hold since the last call.
    package func takeIncidents() -> [Incident] { sync.tally.takeIncidents() }

    /// Calls of their callers' traces that ended since the last call.
    package func takeTracedCalls() -> [TracedCall] { sync.tally.takeTracedCalls() }
}
