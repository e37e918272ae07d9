import ClientCore
import JSON
import Synchronization
import Wire

/// Everything that lives on the thread of one client, which its transport owns: the session that
/// decides, the store, and who listens. What others want of it is posted as a job.
// Safety: every property is touched on the loop thread only; others come in by `post`. Before the
// thread is started, `init` may.
final class Runner: @unchecked Sendable {
    typealias Answer = (_ isCached: Bool, Result<JSONObject, ClientError>) -> Void

    private let transport: any ClientTransport
    private let ask: @Sendable (_ isExpired: Bool) async throws -> Credentials?
    private var session: ClientSession
    let store: ClientStore
    /// When what could not be written is tried again, on the monotonic clock.
    private var savesAgainAt: Int64?
    private var socketNumber: UInt = 0
    private var answers: [Int: Answer] = [:]
    private var nextNumber = 1
    private var listeners = Listeners()
    private var deliveries = Deliveries()
    private var unsaved: Set<ID> = []
    private var isListUnsaved = false
    private var waiting: [ClientSession.Action] = []
    private var isPerforming = false
    private let live = Atomic<Bool>(false)

    init(
        transport: any ClientTransport, options: ClientSession.Options, store: ClientStore,
        ask: @escaping @Sendable (_ isExpired: Bool) async throws -> Credentials?
    ) {
        self.transport = transport
        session = ClientSession(options)
        self.store = store
        self.ask = ask
        if let list = store.list() { session.restore(list) }
        session.restore(owner: store.unsent.owner)
        for conversation in store.unsent.conversations() { restore(conversation) }
    }

    /// Begins to run; the thread ends with `stop`.
    /// - Throws: What keeps the transport from working.
    func start(to endpoint: ClientEndpoint) throws { try transport.start(self, to: endpoint) }

    /// Whether there is a session. May be read on any thread.
    var isLive: Bool { live.load(ordering: .acquiring) }

    /// The present, on the transport's clock. May be read on any thread.
    var now: Instant { transport.now }

    /// Ends the session and the thread. May be called on any thread.
    func stop() {
        post { runner in
            runner.perform { $0.close($1) }
            runner.save()
            runner.listeners.endAll()
            runner.deliveries.endAll()
            try? runner.store.close()
            runner.transport.stop()
        }
    }

    /// Runs a job on the client's thread, after those that were posted before.
    func post(_ job: @escaping @Sendable (Runner) -> Void) {
        transport.post { job(self) }
    }

    /// Runs a job on the client's thread and gives back what it gives.
    func run<Value: Sendable>(_ job: @escaping @Sendable (Runner) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            post { continuation.resume(returning: job($0)) }
        }
    }

    // MARK: The session

    /// Lets the session take something in, and does what it wants done.
    func perform(_ body: (inout ClientSession, Instant) -> Void) {
        transport.preconditionOnLoop()
        let now = now
        body(&session, now)
        waiting.append(contentsOf: session.takeActions())
        // What an action leads to comes behind the actions that were decided before it.
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < waiting.count {
            perform(waiting[next])
            next += 1
        }
        waiting.removeAll(keepingCapacity: true)
        isPerforming = false
        setAlarm(now)
    }

    private func setAlarm(_ now: Instant) {
        let next = [session.nextAlarm, savesAgainAt].compactMap(\.self).min()
        transport.setAlarm(milliseconds: next.map { Int(clamping: $0 - now.monotonic) })
    }

    private func perform(_ action: ClientSession.Action) {
        switch action {
        case .ask(let attempt, let isExpired): askCredentials(attempt, isExpired)
        case .connect: socketNumber = transport.connect()
        case .write(let text): transport.send(text)
        case .disconnect: transport.abandon()
        case .answer(let number, let isCached, let result):
            let answer = isCached ? answers[number] : answers.removeValue(forKey: number)
            answer?(isCached, result)
        case .tell(let conversation, let update): listeners.tell(conversation, update)
        case .tellList(let update): listeners.tell(update)
        case .state(let state):
            live.store(state.isLive, ordering: .releasing)
            listeners.tell(state)
        case .save(let conversation): unsaved.insert(conversation.id)
        case .saveList: isListUnsaved = true
        case .unread(let total): listeners.tell(total)
        case .presence(let list): listeners.tell(list)
        case .settled(let draft, let result): deliveries.settle(draft, result)
        case .belongs(let user): belongs(to: user)
        }
    }

    private func askCredentials(_ attempt: Int, _ isExpired: Bool) {
        transport.begin { [self, ask] in
            do {
                let credentials = try await ask(isExpired)
                post { $0.perform { $0.credentials(credentials, attempt: attempt, $1) } }
            } catch {
                post { $0.perform { $0.credentialsFailed(attempt: attempt, $1) } }
            }
        }
    }

    /// The state of the session, to be read.
    var present: ClientSession { session }

    /// Makes a request. `answer` is called once with the result, and before that perhaps with one
    /// from the gateway's cache.
    func request(
        _ method: String, _ params: RequestParams, _ answer: @escaping Answer
    ) {
        let number = takeNumber()
        answers[number] = answer
        perform { session, _ in session.request(number, method, params) }
    }

    /// Asks what a store may know too. `answer` is called once with the gateway's result; before
    /// that, if the cached answers are wanted, with what the store knows and with what the
    /// gateway's cache has.
    func request(_ question: Question, wantsCached: Bool, _ answer: @escaping Answer) {
        var params = question.params
        if wantsCached {
            if let known = known(question) { answer(true, .success(known)) }
        } else {
            params.set("cached", false)
        }
        request(question.method, params) { [unowned self] isCached, result in
            if !isCached { keep(result, of: question) }
            answer(isCached, result)
        }
    }

    func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    // MARK: Listening

    /// Adds a listener of a conversation, which is told first what is held.
    /// - Parameter limit: How many messages it wants to begin with.
    func listen(
        _ queue: UpdateQueue<ConversationUpdate>, to conversation: String, limit: Int
    ) -> Int {
        restore(conversation)
        let number = takeNumber()
        listeners.add(queue, number, to: conversation, limit: limit)
        let limit = listeners.limit(of: conversation)
        queue.fill(session.present(of: conversation))
        perform { session, _ in session.subscribe(to: conversation, limit: limit) }
        return number
    }

    /// Asks for a page for a listener.
    func fetch(_ page: PageRequest, token: Int, _ number: Int, of conversation: String) {
        guard listeners.expect(token, number, of: conversation) else { return }
        perform { session, _ in session.fetch(conversation, page, token: token) }
    }

    func endListening(_ number: Int, to conversation: String) {
        guard listeners.remove(number, of: conversation) else {
            guard let limit = listeners.limit(of: conversation) else { return }
            return perform { session, _ in session.setLimit(limit, of: conversation) }
        }
        perform { session, _ in
            session.watch([], of: conversation)
            session.unsubscribe(from: conversation)
        }
    }

    func watch(_ places: Coverage, _ number: Int, of conversation: String) {
        let all = listeners.watch(places, number, of: conversation)
        perform { session, _ in session.watch(all, of: conversation) }
    }

    func listenToList(_ queue: UpdateQueue<ConversationsUpdate>, isWhole: Bool) -> Int {
        let number = takeNumber()
        listeners.add(queue, number)
        queue.fill(session.presentList)
        perform { session, now in session.watchList(now, isWhole: isWhole) }
        return number
    }

    func endListeningToList(_ number: Int) {
        guard listeners.removeList(number) else { return }
        perform { session, _ in session.unwatchList() }
    }

    func listenToState(_ queue: UpdateQueue<ConnectionState>) -> Int {
        let number = takeNumber()
        listeners.add(queue, number)
        queue.fill([session.state])
        return number
    }

    func endListeningToState(_ number: Int) { listeners.removeState(number) }

    func listenToUnread(_ queue: UpdateQueue<UnreadSum>) -> Int {
        let number = takeNumber()
        listeners.add(queue, number)
        queue.fill([session.unread].compactMap(\.self))
        return number
    }

    func endListeningToUnread(_ number: Int) { listeners.removeTotal(number) }

    func listenToPresence(_ queue: UpdateQueue<PresenceList>) -> Int {
        let number = takeNumber()
        listeners.add(queue, number)
        queue.fill([session.presence])
        return number
    }

    func endListeningToPresence(_ number: Int) { listeners.removePresence(number) }

    // MARK: Deliveries

    func wait(
        for draft: String, in conversation: String, as number: Int, _ waiter: Deliveries.Waiter
    ) {
        restore(conversation)
        let known = session.drafts(of: conversation).first { $0.id == draft }
        switch known?.state {
        case .sending: deliveries.wait(for: draft, as: number, waiter)
        case .failed(let error): waiter.resume(returning: .failure(.refused(error)))
        case nil:
            let unknown = ClientError.refused(RequestError(.draftUnknown, "draft: there is none"))
            waiter.resume(returning: deliveries.result(of: draft) ?? .failure(unknown))
        }
    }

    func endWaiting(_ number: Int, for draft: String) { deliveries.cancel(number, of: draft) }

    // MARK: The store

    /// Takes over what is stored of a conversation, before it is used.
    func restore(_ conversation: String) {
        guard store.isKept, !session.isKnown(conversation) else { return }
        let unsent = store.unsent.unsent(conversation)
        session.restore(
            conversation, store.held(conversation), unsent.drafts, unsent.changes, read: unsent.read
        )
    }

    /// The gateway named another user than the store did: what this one has not sent goes out now.
    private func belongs(to user: String) {
        store.belongs(to: user)
        for conversation in store.unsent.conversations() {
            let unsent = store.unsent.unsent(conversation)
            perform { session, _ in
                session.adopt(unsent.drafts, unsent.changes, unsent.read, in: conversation)
            }
        }
    }

    private func known(_ question: Question) -> JSONObject? {
        if let conversation = question.conversation { restore(conversation) }
        let holder = question.conversation.flatMap { session.holder(of: $0) }
        return store.answer(question, holder: holder, list: session.list)
    }

    private func keep(_ result: Result<JSONObject, ClientError>, of question: Question) {
        switch result {
        case .success(let answer): store.keep(answer, to: question)
        case .failure(.refused(let error)):
            let isGone = error.code == .notFound || error.code == .forbidden
            guard isGone, let conversation = question.conversation else { return }
            store.forgetAnswers(of: conversation)
        case .failure: return
        }
    }

    /// Writes what has changed in this turn, in one transaction. What can't be written is tried
    /// again, for as long as the client lives.
    private func save() {
        guard store.isOpen else { return }
        let now = now
        if let savesAgainAt, now.monotonic < savesAgainAt { return }
        if store.isBehind {
            unsaved.formUnion(session.noteAllChanged())
            isListUnsaved = true
        }
        guard !unsaved.isEmpty || isListUnsaved else { return }
        let changed = unsaved.map { id -> ClientStore.Change in
            let conversation = id.text
            return ClientStore.Change(
                conversation: conversation, changes: session.takeChanges(of: conversation),
                holder: session.holder(of: conversation) ?? Holder(),
                unsent: UnsentStore.Unsent(
                    drafts: session.drafts(of: conversation),
                    changes: session.changes(of: conversation),
                    read: session.unsentRead(of: conversation)))
        }
        let failure = store.write(changed, isListUnsaved ? session.list : nil)
        savesAgainAt = failure.map { _ in now.monotonic + Self.savePatience }
        if failure == nil {
            unsaved = []
            isListUnsaved = false
        }
        if failure != nil { setAlarm(now) }
    }

    /// After so many milliseconds what could not be written is tried again.
    private static let savePatience: Int64 = 1_000

    /// Writes what there is, and closes the files.
    func closeStore() throws {
        savesAgainAt = nil
        save()
        try store.close()
    }

    /// Opens the files again, and takes over what others wrote there and did not send.
    func openStore() throws {
        try store.open()
        for conversation in store.unsent.conversations() {
            let unsent = store.unsent.unsent(conversation)
            perform { session, _ in
                session.adopt(unsent.drafts, unsent.changes, unsent.read, in: conversation)
            }
        }
    }

    /// Erases everything that is stored.
    func erase() {
        unsaved = []
        isListUnsaved = false
        store.erase()
    }
}

extension Runner: ClientTransportDelegate {
    func opened(_ socket: UInt) {
        if socket == socketNumber { perform { $0.opened($1) } }
    }

    func received(_ socket: UInt, _ text: [UInt8]) {
        guard socket == socketNumber else { return }
        // What the user has written so far is theirs, whom the gateway may be about to name.
        if !session.state.isLive { save() }
        perform { $0.received(text, $1) }
    }

    func closed(_ socket: UInt, code: UInt16?) {
        if socket == socketNumber { perform { $0.closed(code: code, $1) } }
    }

    func alarmRang() { perform { $0.tick($1) } }
    func turnEnded() { save() }
}
