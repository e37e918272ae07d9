import Chat
import JSON
import Wire

/// The clients' connections: admission, rate limits, outgoing frames and closes. Owned by the
/// engine. Sessions are changed here, by `Delivery` (their sockets) and by the code that subscribes
/// them. It knows neither requests nor streams: consequences for those are returned as steps, in
/// order, for the engine to take.
final class Connections {
    /// Work for the rest of the engine.
    enum Step {
        /// A subscription to this conversation was answered: requests held behind it go on.
        case answered(Session, ID)
        /// The session is closed and has no subscriptions left.
        case left(Session)
    }

    let clock: Clock
    let fanout: Fanout
    let tally: Tally
    let journal: Journal?
    let server: ServerIdentity
    /// The prefix of every public session id, so that two processes never use the same one.
    let instance: String
    /// Identifies clients by their credentials; replaced when the operator's keys change.
    var authenticator: any Authenticator
    private(set) var limits: Limits
    @exclusivity(unchecked) var registry: SessionRegistry
    var drain: Drain?
    @exclusivity(unchecked) private var steps: [Step] = []

    /// The gateway's identity, shown to clients.
    struct House {
        let server: ServerIdentity
        let authenticator: any Authenticator
        let instance: String
    }

    init(_ limits: Limits, _ house: House, _ fanout: Fanout, _ tally: Tally, _ journal: Journal?) {
        self.limits = limits
        clock = fanout.clock
        self.fanout = fanout
        self.tally = tally
        self.journal = journal
        server = house.server
        instance = house.instance
        authenticator = house.authenticator
        registry = SessionRegistry(at: fanout.clock.now)
    }

    var now: Timestamp { clock.now }

    subscript(_ id: SessionID) -> Session? { registry[id] }

    /// Applies new limits from here on. Costs already charged stay charged.
    func adopt(_ limits: Limits) {
        self.limits = limits
        registry.adopt(limits)
    }

    /// A session id that no other process uses: it begins with the instance.
    func publicName(of session: SessionID) -> String { "\(instance)-\(session)" }

    // MARK: - Steps

    /// The steps since the last call, in order.
    func takeSteps() -> [Step] {
        guard !steps.isEmpty else { return [] }
        defer { steps = [] }
        return steps
    }

    // MARK: - The end of a connection

    /// Closes the connection after its pending frames were sent; nothing more is queued for it.
    func close(_ session: Session, _ code: CloseCode) {
        guard !session.isClosing else { return }
        session.isClosing = true
        journal?.closed(session, code, at: now)
        leave(session)
        fanout.delivery.hasten(session)
        registry.close(session, code)
        tally.noteClose(code)
    }

    /// The connection is gone.
    func closed(_ id: SessionID) {
        guard let session = registry.remove(id) else { return }
        if !session.isClosing {
            journal?.closed(session, nil, at: now)
            leave(session)
        }
        session.isClosing = true
        fanout.delivery.discard(session, at: now)
    }

    /// Closes a user's connections, for the server API.
    /// - Returns: how many there were.
    func disconnect(_ user: ID, mayComeBack: Bool) -> Int {
        let closing = registry.of(user)
        for session in closing {
            // A client that may return is told to do so at once.
            if mayComeBack {
                push(session, ServerFrame.goaway(reconnectIn: 0, reason: "disconnected"))
            }
            close(session, mayComeBack ? .draining : .disconnected)
        }
        return closing.count
    }

    /// Removes the session from everything that would push to it.
    private func leave(_ session: Session) {
        for subscription in session.subscriptions.reversed() {
            journal?.left(session, subscription.stream, "closed", at: now)
            subscription.stream.remove(session)
        }
        session.requests.dropHeld()
        session.postponed.removeAll()
        session.list.dropHeld()
        session.list.forgetShown()
        registry.signOut(session)
        steps.append(.left(session))
    }

    // MARK: - Outgoing frames

    /// Backpressure: the session is above its soft limit.
    func isOverfull(_ session: Session) -> Bool { fanout.delivery.isOverfull(session) }

    func push(_ session: Session, _ item: Outbox.Item) { fanout.delivery.push(session, item) }

    /// Queues a frame for this session alone, which is never shed.
    func push(_ session: Session, _ payload: [UInt8]) {
        if fanout.delivery.push(session, own: Frame(payload), at: now) {
            close(session, .outboxOverflow)
        }
    }

    /// Queues an event that its receivers share.
    func push(_ session: Session, _ event: Broadcast) {
        guard !session.isClosing else { return }
        if event.isAboutList, !session.list.admits(event) { return }
        fanout.delivery.push(session, event)
    }

    // MARK: - Answers

    /// - Parameters:
    ///   - size: estimated bytes of the result, if known.
    ///   - rows: messages, conversations or participants that were read for it.
    ///   - people: participants looked up for it, or changed by it.
    func reply(
        _ call: Call, size: Int = 256, rows: Int = 0, people: Int = 0,
        _ result: (inout JSONWriter) -> Void
    ) {
        guard let session = registry[call.session] else { return }
        ended(call, session)
        let cached: Bool? = call.request.isTwoPhase ? false : nil
        let frame = ServerFrame.reply(
            id: call.id, cached: cached, capacity: size, result: result)
        charge(call, session, rows: rows, bytes: frame.count, people: people)
        push(session, frame)
        release(session, call)
    }

    func fail(_ call: Call, _ error: RequestError) {
        guard let session = registry[call.session] else { return }
        tally.noteFailure(error)
        if !call.isJournaled { journal?.refused(call.request.outline, error, session, at: now) }
        tally.noteEnd(of: call.request.outline, session, error)
        ended(call, session)
        push(session, ServerFrame.error(id: call.id, error))
        release(session, call)
    }

    /// The call was answered: requests held behind it go on.
    private func release(_ session: Session, _ call: Call) {
        if call.request.showsConversations {
            for event in session.list.endRead() { push(session, event) }
        }
        guard let subject = call.request.subject,
            session.requests.release(subject, by: call.id)
        else { return }
        steps.append(.answered(session, subject))
    }

    /// Whether by a result or by an error, the request was answered.
    private func ended(_ call: Call, _ session: Session) {
        guard session.requests.end(call.id, weight: call.request.weight) else { return }
        registry.noteThrottle(session)
    }
}

extension Request {
    /// Stands for the list of conversations where a conversation id is expected: no id is empty.
    static let ownList = ""

    /// The subject of a subscription, which other requests about it don't overtake; else nil.
    fileprivate var subject: ID? {
        let row = row
        if row.method == .subscribeMessages { return row.conversation?.id }
        return row.method == .subscribeConversations ? Self.ownList.id : nil
    }
}
