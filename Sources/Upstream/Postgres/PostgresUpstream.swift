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
    let pool: PostgresPool
    private let links = PostgresLinks()
    private let troubles = Troubles()
    private let locks: PostgresLocks
    private let feed: PostgresFeed
    private let signals: PostgresSignals
    private let watch: PostgresWatch
    private let listener: PostgresListener
    private let workers: [PostgresWorker]
    private let trimming: PostgresTrimming
    let outlet = Outlet()
    let recordQueues = SerialQueues()
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let identifiers = Mutex(IdentifierSource())
    private let present: PresentLimits
    private let damagedLogs: PostgresDamage

    /// - Parameters:
    ///   - limits: the limits of the logs' values.
    ///   - notice: called with log lines, on threads of the upstream's own.
    package init(
        _ options: PostgresOptions, limits: LogLimits = LogLimits(),
        notice: @escaping @Sendable (UpstreamNotice) -> Void = { _ in }
    ) {
        self.options = options
        self.notice = notice
        let present = PresentLimits(limits)
        self.present = present
        let (pool, links, troubles) = (PostgresPool(options), links, troubles)
        self.pool = pool
        let locks = PostgresLocks(pool, limit: options.lockTimeout)
        self.locks = locks
        let deliver: @Sendable ([UpstreamOutput]) -> Void = { [outlet] in outlet.deliver($0) }
        let state = StateReport(deliver: deliver)
        let damagedLogs = PostgresDamage(options, pool, notice: notice, deliver: deliver)
        self.damagedLogs = damagedLogs
        let feed = PostgresFeed(
            options, pool, links, deliver: deliver,
            damaged: { conversation, part in damagedLogs.found(part, of: conversation) })
        self.feed = feed
        let look = Wakeable()
        let signals = PostgresSignals(
            pool, links, deliver: deliver, tell: { feed.tell($0) }, changed: { look.wake() })
        self.signals = signals
        let report: @Sendable () -> Void = {
            state.report { links.isOnline && signals.isCurrent }
        }
        let listener = PostgresListener(
            options, links, troubles, feed, signals, limits: { present.value },
            notice: notice, report: report)
        self.listener = listener
        look.set { [weak listener] in listener?.look() }
        let watch = PostgresWatch(options, links, notice: notice) { listener.look() }
        self.watch = watch
        workers = pool.wakeups.indices.map { number in
            PostgresWorker(
                number, options, pool, links, troubles, locks, notice: notice,
                changed: { isStranger in
                    if isStranger { watch.hurry() }
                    listener.look()
                })
        }
        trimming = PostgresTrimming(options, pool)
    }

    package func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void) {
        outlet.open(deliver)
        for worker in workers { worker.start() }
        listener.start()
        watch.start()
        trimming.start()
    }

    package func stop() {
        trimming.stop()
        damagedLogs.stop()
        pool.stop()
        for worker in workers { worker.wait() }
        pool.close()
        listener.stop()
        watch.stop()
        outlet.close()
    }

    package func adopt(_ limits: LogLimits) {
        present.value = limits
        listener.adopt()
    }

    /// The present limits of the logs' values.
    var limits: LogLimits { present.value }

    /// Why the upstream is offline or can't write, for health; nil if it is well.
    package var trouble: String? {
        if let locked = locks.trouble { return locked }
        let queue = links.queue
        if queue >= 0.5 {
            return "the notification queue of the server is \(Int(queue * 100)) % full (a session"
                + " that listens in a long transaction keeps it: end that one; when it is full no"
                + " write is taken)"
        }
        return troubles.first ?? damagedLogs.trouble
    }

    package var faults: UpstreamFaults {
        var faults = troubles.faults
        faults.trouble = trouble
        faults.notificationQueue = links.queue
        return faults
    }

    // MARK: the feed

    package func subscribe(_ conversation: String) { feed.subscribe(conversation.id) }

    package func unsubscribe(_ conversation: String) { feed.unsubscribe(conversation.id) }

    package func subscribeList(of user: String) { feed.subscribeList(user.id) }

    package func unsubscribeList(of user: String) { feed.unsubscribeList(user.id) }

    package func publish(_ event: FeedEvent) {
        // Other events are notified by the transactions that write.
        guard case .typing(let conversation, let user, let state, let at) = event else { return }
        signals.typing(conversation, user, state, at: at)
    }

    package var reachesOthers: Bool { true }

    package func disconnect(_ user: String, mayComeBack: Bool, token: UInt64) {
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

    /// A question in flight, with the generation in which it was asked.
    struct Question: Sendable {
        let token: UInt64
        let generation: Int
    }

    /// Starts a question, before it is sent.
    func question(_ token: UInt64) -> Question {
        Question(token: token, generation: links.generation)
    }

    /// - Parameter heads: heads from which the feed continues.
    func answer(
        _ question: Question, _ result: Result<HistoryAnswer, RequestError>,
        heads: [ID: Head] = [:]
    ) {
        // If the generation changed between question and answer, the answer belongs to none.
        let isProven = question.generation == links.generation
        let generation = isProven ? question.generation : 0
        for (id, head) in heads { feed.learn(head, of: id, generation: generation) }
        outlet.deliver([.answered(token: question.token, generation: generation, result)])
    }

    package func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        let question = question(token)
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "disown")
        json.member("c", string: conversation)
        json.member("epoch", string: head.epoch)
        json.member("rev", int: head.rev)
        json.member("mark", string: head.mark)
        json.member("newEpoch", string: newEpoch())
        json.endObject()
        pool.write(json.bytes, of: conversation) { [self] result in
            let now = checked(result, conversation).flatMap { answer in
                answer["head"].flatMap { Head(postgres: $0) }.map { ($0, answer) }
                    .map(Result.success) ?? .failure(.unreadable)
            }
            if case .success(let (_, answer)) = now,
                let reason = answer["reason"]?.string.flatMap(NewEpochReason.init)
            {
                gave(conversation, reason)
            }
            let heads = (try? now.get()).map { [conversation.id: $0.0] } ?? [:]
            self.answer(question, now.map { .heads([conversation.id: $0.0]) }, heads: heads)
        }
    }

    /// Records that this gateway gave a log a new epoch.
    private func gave(_ conversation: String, _ reason: NewEpochReason) {
        troubles.gave(reason)
        let text = "gave the log of conversation \(conversation) a new epoch: \(reason.rawValue)"
        notice(UpstreamNotice(.error, text))
    }

    // MARK: answers

    /// Checks an answer for the errors that all functions share.
    func checked(
        _ result: Result<PostgresAnswer, RequestError>, _ conversation: String
    ) -> Result<PostgresAnswer, RequestError> {
        guard case .success(let answer) = result else { return result }
        switch answer.word {
        case "absent": return .failure(.noConversation)
        case "locked": return .failure(.conversationLocked)
        case "damaged":
            return .failure(damage(answer["part"]?.string ?? "log", of: conversation))
        case "unstorable":
            let field = answer["field"]?.string ?? "value"
            return .failure(
                .badRequest(
                    "\(field): Postgres can't keep it (accepted: no U+0000, no half of a surrogate"
                        + " pair, numbers within the range of numeric)"))
        case "error":
            let state = answer["state"]?.string ?? "-"
            say("write to conversation \(conversation) in Postgres: refused (\(state))")
            return .failure(.unreadable)
        default: return result
        }
    }

    /// Records that a part of a log contradicts the rest.
    func damage(_ part: String, of conversation: String) -> RequestError {
        damagedLogs.found(part, of: conversation)
        return .damaged(part)
    }

    /// Logs a problem, without repeats.
    private func say(_ text: String) {
        if let line = troubles.line("log", text) { notice(UpstreamNotice(.error, line)) }
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
