import Chat
import Ports
import Wire

/// Decides everything and performs nothing. Inputs are calls (a frame, a change of a log, an answer
/// of the store, time); outputs are a `Turn` and frames in the outboxes of sessions. It has no
/// clock, thread, file or socket, so that a simulation runs the same code as the gateway. Owned by
/// the loop; not thread-safe.
///
/// A turn is any number of calls, then `endTurn`. Perform the effects that it returns and call it
/// again until it returns none: `TurnRunner` does that.
///
/// This class is the entry point, with one method per input. Each subject has a class of its own,
/// and `Coordinator` connects these.
package final class Engine {
    /// The shell's interface to delivery, and its reports about sockets.
    package let sockets: Sockets
    /// The connections of clients.
    let connections: Connections
    /// Follows logs that live elsewhere, as a replica.
    let sync: Sync
    private let machines: Coordinator

    /// - Parameter instance: letters and digits that no other process uses.
    package init(
        limits: Limits, server: ServerIdentity, authenticator: any Authenticator, instance: String,
        sync: SyncOptions? = nil, at now: Timestamp
    ) {
        let journal =
            limits.journal.bytes > 0
            ? Journal(bytes: limits.journal.bytes, age: limits.journal.age, at: now) : nil
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
        set {
            let last = sync.clock.now
            sync.clock.now = newValue
            sync.passed(since: last)
        }
    }

    /// The journal of the latest messages; nil if none is kept.
    package var journal: Journal? { connections.journal }

    package var limits: Limits { connections.limits }

    /// Identifies clients by their credentials; replaced when the operator's keys change.
    package var authenticator: any Authenticator {
        get { connections.authenticator }
        set { connections.authenticator = newValue }
    }

    // MARK: - Turns

    /// Ends the turn: encodes and queues events for the turn's changes, and sheds slow readers.
    /// - Parameter instant: the same moment on the steady clock, for pacing.
    /// - Returns: what the shell has to do. If it has effects, end the turn again after them.
    package func endTurn(at now: Timestamp, instant: Duration) -> Turn {
        self.now = now
        fanout.pacing.advance(to: instant)
        machines.endTurn()
        var turn = questions.takeDecided()
        guard turn.isOver else { return turn }
        turn.writes = fanout.delivery.takeReady(at: now)
        turn.closes = connections.registry.takeCloses()
        turn.throttles = connections.registry.takeThrottles()
        return turn
    }

    /// Sessions to stop reading (true) or to resume reading (false). The shell calls this between
    /// two frames of a turn; the rest are in the turn's result.
    package func takeThrottles() -> [(SessionID, Bool)] { connections.registry.takeThrottles() }

    /// The sockets were written at the end of a turn. Conversations with several messages in that
    /// write now rest for as long as it took.
    /// - Parameters: as `Pacing.wrote` has them.
    package func wrote(_ sessions: Int, in time: Duration, at instant: Duration) {
        fanout.pacing.wrote(
            sessions, in: time, at: instant, fanout.delivery.sliced)
    }

    /// Nothing was written at the end of a turn. Readers that were left for it may be gone.
    package func wroteNothing(at instant: Duration) {
        if fanout.pacing.isSlicing { wrote(0, in: .zero, at: instant) }
    }

    /// When the next turn is due without input, on the clock of `endTurn`: the end of the earliest
    /// rest. Nil if no conversation rests.
    package var nextRelease: Duration? { fanout.pacing.nextRelease }

    /// Whether a conversation waits for messages that are still to be read.
    package var isLingering: Bool { fanout.pacing.isLingering }

    /// Whether the next turn already has work: postponed requests that can go on, timers that are
    /// due, or outboxes to shed.
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

    /// The session's user, once `connect` has told who it is.
    package func user(of id: SessionID) -> ID? { connections[id]?.user?.id }

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

    /// A session id that no other process uses: it begins with the instance.
    package func publicName(of session: SessionID) -> String {
        connections.publicName(of: session)
    }

    // MARK: - Logs

    /// A batch of the feed, in log order. What follows from it is done after all of it: a value may
    /// be newer than the change that brings it, and no transaction of the cache may lie between.
    package func feed(_ events: some Sequence<FeedEvent>, at now: Timestamp) {
        self.now = now
        for event in events {
            machines.feed.take(event)
            machines.presence.heard(event)
        }
        machines.takeSteps()
    }

    /// The operation is on its way to the log until `noteSent` is called with the same token. For
    /// operations that the engine did not start; it tracks its own.
    package func noteSend(
        _ operation: Operation, token: UInt64, from session: SessionID = 0, trace: String = ""
    ) {
        machines.desk.noteSend(operation, token: token, from: session, trace: trace)
    }

    /// The operation was done or refused.
    package func noteSent(token: UInt64, _ result: Result<Outcome, RequestError>) {
        machines.desk.noteSent(token: token, result)
        if case .success(let outcome) = result { machines.presence.wrote(outcome) }
    }

    /// The upstream performed a write or refused it.
    package func performed(
        _ token: UInt64, _ result: Result<Outcome, RequestError>, at now: Timestamp
    ) {
        self.now = now
        machines.performed(token, result)
    }

    // MARK: - Logs that live elsewhere

    /// The upstream's link came up or went down.
    package func linked(_ state: UpstreamState, at now: Timestamp) {
        self.now = now
        machines.linked(state)
    }

    /// The origin acknowledged the subscription: from here on the feed has this conversation's
    /// changes.
    package func subscribed(_ conversation: String, generation: Int, at now: Timestamp) {
        self.now = now
        sync.subscribed(conversation, generation: generation, reading: machines.lists.readings)
        machines.takeSteps()
    }

    /// The origin acknowledged the subscription: from here on the feed reports what joins and
    /// leaves the user's list.
    package func subscribedList(of user: String, at now: Timestamp) {
        self.now = now
        machines.announcer.followed(user.id)
    }

    /// Every subscription of that generation has ended.
    package func lapsed(generation: Int, at now: Timestamp) {
        self.now = now
        machines.lapsed(generation: generation)
    }

    /// The origin found this part of the log damaged, or (nil) whole again.
    package func damaged(_ conversation: String, _ part: String?, at now: Timestamp) {
        self.now = now
        sync.heard(part, of: conversation)
        machines.takeSteps()
    }

    /// The origin answered.
    /// - Parameter generation: of the feed that was unbroken from the question to the answer; 0 for
    ///   none.
    package func fetched(
        _ token: UInt64, generation: Int, _ result: Result<HistoryAnswer, RequestError>,
        at now: Timestamp
    ) {
        self.now = now
        machines.fetched(token, generation, result)
    }

    // MARK: - Who is there

    /// The origin answered a call of presence.
    package func toldPresence(
        _ token: UInt64, _ result: Result<PresenceReading, RequestError>, at now: Timestamp
    ) {
        self.now = now
        guard case .presence = questions.close(token) else { return }
        machines.presence.answered(result)
        machines.takeSteps()
    }

    /// What the origin has of these users changed.
    package func presenceChanged(of users: [String], at now: Timestamp) {
        self.now = now
        machines.presence.changed(users)
    }

    /// From here on the feed says whose presence changed.
    package func followsPresence(at now: Timestamp) {
        self.now = now
        machines.presence.follows()
    }

    // MARK: - The store

    /// The store answered a read.
    package func answered(
        _ token: UInt64, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        machines.answered(token, result)
    }

    /// Whether the answer to this token is still awaited.
    package func isAwaited(_ token: UInt64) -> Bool { questions[token] != nil }

    /// Concludes a read that turns out not to need the cache.
    /// - Returns: whether it did.
    package func concludeWithoutReading(_ token: UInt64) -> Bool {
        defer { machines.takeSteps() }
        return machines.desk.concludeWithoutReading(token)
    }

    /// Whether the question may be answered beside the turns, at another moment than the other
    /// reads, while the feed goes on.
    package func mayReadSlow(_ token: UInt64) -> Bool { machines.desk.mayReadSlow(token) }

    /// The cache trimmed rows on its own, between two turns: a write that was decided before would
    /// claim what is gone.
    package func trimmed(
        _ conversation: String, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        sync.store.trimmed(conversation, result)
        machines.takeSteps()
    }

    /// The cache committed what it was given, or failed to.
    package func stored(_ token: UInt64, _ succeeded: Bool, at now: Timestamp) {
        self.now = now
        sync.store.stored(token, succeeded)
        machines.takeSteps()
    }

    // MARK: - Time

    /// Time has passed; call it a few times a second.
    package func tick(at now: Timestamp) {
        self.now = now
        machines.tick()
    }

    /// Tokens expire by the time of day, which is this many milliseconds ahead of the engine's
    /// clock.
    package func adopt(timeOfDayAhead ahead: Int64) { connections.adopt(timeOfDayAhead: ahead) }

    /// Applies new limits from here on. Costs already charged stay charged.
    package func adopt(_ limits: Limits) {
        fanout.adopt(limits)
        streams.adopt(limits)
        connections.adopt(limits)
        machines.presence.adopt()
    }

    /// Begins the drain. New connections are refused from now on.
    /// - Parameters: as `Connections.beginDrain` has them.
    package func beginDrain(
        window: Int64, deadline: Int64, succession: Succession = .beside, at now: Timestamp
    ) {
        self.now = now
        connections.beginDrain(window: window, deadline: deadline, succession)
        machines.presence.leave()
        machines.takeSteps()
    }

    /// While the gateway drains: milliseconds until new clients may connect again. Otherwise nil.
    package var drainedIn: Int64? { connections.drainedIn }

    package var isDraining: Bool { connections.isDraining }

    /// Whether every client got `goaway` and its pending frames and was closed, and the origin
    /// knows that; or the deadline passed.
    package var isDrained: Bool {
        connections.isDrained && (machines.presence.isSaid || connections.isPastDrain)
    }

    // MARK: - Reports

    /// A view of the memory now, for health, metrics and operators.
    package var report: EngineReport { EngineReport(of: connections, sync) }

    /// Subscribers that were told to discard what they hold, since the last call.
    package func takeIncidents() -> [Incident] { sync.tally.takeIncidents() }

    /// Calls with a `traceparent` that ended since the last call.
    package func takeTracedCalls() -> [TracedCall] { sync.tally.takeTracedCalls() }
}
