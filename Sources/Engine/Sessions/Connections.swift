import Chat
import JSON
import Wire

/// The connections of clients: who may come in, what is taken from whom, what is given to each, and
/// when they go. Owned by the engine; sessions are changed here, by `Delivery` as far as it is
/// about their sockets, and by whoever subscribes them. It knows neither requests nor streams: what
/// follows for those comes out as steps, in order, which the engine takes.
final class Connections {
    /// What the rest of the engine is to do.
    enum Step {
        /// A call about this conversation is answered: what it held up goes on.
        case answered(Session, ID)
        /// The session is closed, and watches nothing any more.
        case left(Session)
    }

    let clock: Clock
    let fanout: Fanout
    let tally: Tally
    let journal: Journal?
    let server: ServerIdentity
    /// Begins the public number of every session, so that numbers of two processes differ.
    let instance: String
    /// Tells who a client is; replaced when the operator's keys change.
    var authenticator: any Authenticator
    private(set) var limits: Limits
    @exclusivity(unchecked) var registry: SessionRegistry
    var drain: Drain?
    private var steps: [Step] = []

    /// Who the gateway is, to clients.
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

    /// Holds everybody to other limits from here on; what was asked for stays paid.
    func adopt(_ limits: Limits) {
        self.limits = limits
        registry.adopt(limits)
    }

    /// Begins with what no session of another process has.
    func publicName(of session: SessionID) -> String { "\(instance)-\(session)" }

    // MARK: - Steps

    /// What is to be done because of what happened since the last time, in order.
    func takeSteps() -> [Step] {
        guard !steps.isEmpty else { return [] }
        defer { steps = [] }
        return steps
    }

    // MARK: - The end of a connection

    /// Closes the connection after what it is owed was sent; nothing more is queued for it.
    func close(_ session: Session, _ code: CloseCode) {
        guard !session.isClosing else { return }
        session.isClosing = true
        journal?.closed(session, code, at: now)
        leave(session)
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

    /// Closes a user's connections, by the server API.
    /// - Returns: how many there were.
    func disconnect(_ user: ID, mayComeBack: Bool) -> Int {
        let closing = registry.of(user)
        for session in closing {
            // Whoever may come back is told when: at once.
            if mayComeBack {
                push(session, ServerFrame.goaway(reconnectIn: 0, reason: "disconnected"))
            }
            close(session, mayComeBack ? .draining : .disconnected)
        }
        return closing.count
    }

    /// Takes the session out of everything that would push to it.
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

    // MARK: - What is given

    /// More waits for the session than it is to have waiting.
    func isOverfull(_ session: Session) -> Bool { fanout.delivery.isOverfull(session) }

    func push(_ session: Session, _ item: Outbox.Item) { fanout.delivery.push(session, item) }

    /// For frames that are this session's alone and are never shed.
    func push(_ session: Session, _ payload: [UInt8]) {
        if fanout.delivery.push(session, own: Frame(payload), at: now) {
            close(session, .outboxOverflow)
        }
    }

    /// For an event that is shared by its receivers.
    func push(_ session: Session, _ event: Broadcast) {
        guard !session.isClosing else { return }
        if event.isAboutList, !session.list.admits(event) { return }
        fanout.delivery.push(session, event)
    }

    // MARK: - Answers

    /// - Parameters:
    ///   - size: about what the result takes, where that is known.
    ///   - rows: messages, conversations or participants that were read for it.
    ///   - people: who were looked at for it, or whom it changes.
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
        if !call.isJournaled { journal?.refused(call.request, error, session, at: now) }
        tally.noteEnd(of: call.request, session, error)
        ended(call, session)
        push(session, ServerFrame.error(id: call.id, error))
        release(session, call)
    }

    /// The call is answered; what it held up goes on.
    private func release(_ session: Session, _ call: Call) {
        if call.request.showsConversations {
            for event in session.list.endRead() { push(session, event) }
        }
        guard let subject = call.request.subject,
            session.requests.release(subject, by: call.id)
        else { return }
        steps.append(.answered(session, subject))
    }

    /// The request is answered, in one way or the other.
    private func ended(_ call: Call, _ session: Session) {
        guard session.requests.end(call.id, weight: call.request.weight) else { return }
        registry.noteThrottle(session)
    }
}

extension Request {
    /// Stands for the list of conversations where a conversation's id is expected: no id is empty.
    static let ownList = ""

    /// What a subscription is to, so that no other request about it overtakes it; nil of others.
    fileprivate var subject: ID? {
        switch self {
        case .subscribeMessages(let id, _, _): id.id
        case .subscribeConversations: Self.ownList.id
        case .connect, .refresh, .unsubscribeMessages, .unsubscribeConversations,
            .fetchConversations, .fetchConversation, .fetchMessages, .fetchParticipants,
            .findBoundaries, .sendMessage, .editMessage, .deleteMessage, .createConversation,
            .updateConversation, .addParticipants, .removeParticipants, .addAdmins, .removeAdmins,
            .deleteConversation, .leaveConversation, .markRead, .typing:
            nil
        }
    }
}
