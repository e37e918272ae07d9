import Chat
import JSON
import Ports
import Postgres
import Rules
import Synchronization
import Wire

/// Postgres as the upstream: the logs are in the team's own database, where applications write to
/// them in their own transactions; any number of gateways share it. `Schema` describes the stored
/// form. A write is decided either in the function that writes, or here, on what a function has
/// read; then the writing function checks that this still holds. Numbering is dense; a notification
/// is a doorbell, and then the changes are read. If the server loses a change, the log's marks show
/// it. Any thread may call it.
package final class PostgresUpstream: SharedOrigin {
    /// The value of `upstream.kind`.
    package static let kind = "postgres"
    package var kind: String { Self.kind }

    /// How often a write is decided again because another writer was faster.
    static let tryLimit = 32

    let options: PostgresOptions
    let answers: PostgresAnswers
    private let history: PostgresHistory
    private let links = PostgresLinks()
    private let troubles = Troubles()
    private let locks: PostgresLocks
    private let refusals = PostgresRefusals()
    private let feed: PostgresFeed
    private let signals: PostgresSignals
    private let threads: PostgresThreads
    let outlet = Outlet()
    let recordQueues = SerialQueues()
    let enabled = EnabledVersion()
    private let identifiers = Mutex(IdentifierSource())
    private let present: PresentLimits
    private let damage: PostgresDamage

    /// - Parameters:
    ///   - limits: the limits of the logs' values.
    ///   - notice: called with log lines, on threads of the upstream's own.
    package init(
        _ options: PostgresOptions, limits: LogLimits = LogLimits(),
        notice: @escaping @Sendable (UpstreamNotice) -> Void = { _ in }
    ) {
        self.options = options
        let present = PresentLimits(limits)
        self.present = present
        let (pool, links, troubles) = (PostgresPool(options), links, troubles)
        let refusals = refusals
        let locks = PostgresLocks(pool, limit: options.lockTimeout)
        self.locks = locks
        let deliver: @Sendable ([UpstreamOutput]) -> Void = { [outlet] in outlet.deliver($0) }
        let state = StateReport(deliver: deliver)
        let damage = PostgresDamage(options, pool, notice: notice, deliver: deliver)
        self.damage = damage
        answers = PostgresAnswers(pool, damage, troubles, notice: notice)
        let feed = PostgresFeed(
            options, pool, links, outlet,
            damaged: { conversation, part in damage.found(part, of: conversation) })
        self.feed = feed
        history = PostgresHistory(options, answers, links, feed, outlet)
        let look = Wakeable()
        let signals = PostgresSignals(
            pool, links, deliver: deliver, tell: { feed.tell($0) }, changed: { look.wake() })
        self.signals = signals
        let report: @Sendable () -> Void = {
            state.report { links.isOnline && signals.isCurrent }
        }
        let listener = PostgresListener(
            options, pool, links, troubles, feed, signals, limits: { present.value },
            notice: notice, report: report)
        look.set { [weak listener] in listener?.look() }
        let watch = PostgresWatch(options, links, notice: notice) { listener.look() }
        let workers = pool.wakeups.indices.map { number in
            PostgresWorker(
                number, options, pool, links, troubles, locks, refusals, notice: notice,
                changed: { isStranger in
                    if isStranger { watch.hurry() }
                    listener.look()
                })
        }
        threads = PostgresThreads(
            pool, workers, listener, watch, PostgresTrimming(options, pool),
            PostgresLook(options, pool, troubles))
    }

    package func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void) {
        outlet.open(deliver)
        threads.start()
    }

    package func stop() {
        damage.stop()
        threads.stop()
        outlet.close()
    }

    package func adopt(_ limits: LogLimits) {
        present.value = limits
        threads.listener.adopt()
    }

    /// The present limits of the logs' values.
    var limits: LogLimits { present.value }

    /// Why the upstream is offline or can't write, for health; nil if it is well.
    package var trouble: UpstreamNotice? {
        if let locked = locks.trouble { return locked }
        let queue = links.queue
        if queue >= 0.5 {
            return UpstreamNotice(
                .originQueueFills,
                "the notification queue of the server is \(Int(queue * 100)) % full")
        }
        return troubles.first ?? damage.trouble ?? refusals.trouble
    }

    package var faults: UpstreamFaults {
        var faults = troubles.faults
        faults.trouble = trouble
        faults.notificationQueue = links.queue
        return faults
    }

    // MARK: the feed

    func subscribe(_ conversation: String) { feed.subscribe(conversation.id) }

    func unsubscribe(_ conversation: String) { feed.unsubscribe(conversation.id) }

    func subscribeList(of user: String) { feed.subscribeList(user.id) }

    func unsubscribeList(of user: String) { feed.unsubscribeList(user.id) }

    func publish(_ event: FeedEvent) {
        // Other events are notified by the transactions that write.
        guard case .typing(let conversation, let user, let state, let at) = event else { return }
        signals.typing(conversation, user, state, at: at)
    }

    package var reachesOthers: Bool { true }

    func disconnect(_ user: String, mayComeBack: Bool, token: UInt64) {
        signals.disconnect(user, mayComeBack: mayComeBack) { [outlet] isTold in
            // After any error: a retry is harmless, even if the request was published.
            let fate: Result<Outcome, RequestError> =
                isTold ? .success(.done) : .failure(.othersNotTold)
            outlet.deliver([.performed(token: token, fate)])
        }
    }

    /// The read marker moved.
    func hasRead(_ conversation: String, _ user: String, _ seq: Int) {
        signals.read(conversation, user, seq)
    }

    // MARK: writes

    package func submit(_ calls: [UpstreamCall]) { take(calls) }

    /// Answers a write after the feed has delivered its event.
    /// - Parameter head: the log's head right after the write.
    func finish(
        _ call: Call, _ result: Result<Outcome, RequestError>, in conversation: String,
        behind head: RawJSON?
    ) {
        guard case .success = result, let head = head.flatMap({ Head(postgres: $0) }) else {
            return finish(call, result)
        }
        feed.whenTold(conversation.id, upTo: head) { [self] in finish(call, result) }
    }

    func newID() -> String { identifiers.withLock { $0.next(at: Embedded.systemTime()) } }

    // MARK: questions

    func ask(_ query: HistoryQuery, token: UInt64) { history.ask(query, token: token) }

    func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        history.forkEpoch(head, conversation: conversation, token: token)
    }

    func view(
        _ id: String, with reader: String?, naming named: [String]?, mends: Bool,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void
    ) {
        answers.view(id, with: reader, naming: named, mends: mends, then: then)
    }
}

/// A wake-up call to an object that is made later than its caller.
private final class Wakeable: Sendable {
    private struct Action { let wake: @Sendable () -> Void }
    private let action = Mutex<Action?>(nil)

    func set(_ wake: @escaping @Sendable () -> Void) {
        action.withLock { $0 = Action(wake: wake) }
    }

    func wake() { action.withLock { $0 }?.wake() }
}

/// What runs beside the callers: workers that ask, the listener, the watch over the servers, and
/// the trimming.
private struct PostgresThreads: Sendable {
    let listener: PostgresListener
    private let pool: PostgresPool
    private let workers: [PostgresWorker]
    private let watch: PostgresWatch
    private let trimming: PostgresTrimming
    private let look: PostgresLook

    init(
        _ pool: PostgresPool, _ workers: [PostgresWorker], _ listener: PostgresListener,
        _ watch: PostgresWatch, _ trimming: PostgresTrimming, _ look: PostgresLook
    ) {
        self.look = look
        self.pool = pool
        self.workers = workers
        self.listener = listener
        self.watch = watch
        self.trimming = trimming
    }

    func start() {
        for worker in workers { worker.start() }
        listener.start()
        watch.start()
        trimming.start()
        look.start()
    }

    func stop() {
        look.stop()
        trimming.stop()
        pool.stop()
        for worker in workers { worker.wait() }
        pool.close()
        listener.stop()
        watch.stop()
    }
}
