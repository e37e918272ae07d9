import Dispatch
import JSON
import Ports
import Postgres
import Rules
import Synchronization
import Wire

/// One connection for questions and writes, and its thread, which connects and reconnects. A
/// connection is used only while it is at the feed's server.
// Safety: what `let` holds is Sendable or touched on `queue` alone, which is serial and so the
// worker's own thread.
final class PostgresWorker: @unchecked Sendable {
    private let number: Int
    private let options: PostgresOptions
    private let pool: PostgresPool
    private let links: PostgresLinks
    private let troubles: Troubles
    private let notice: @Sendable (UpstreamNotice) -> Void
    /// Called when the connection comes up or goes down, and when it is at another server than the
    /// feed.
    private let changed: @Sendable (_ isStranger: Bool) -> Void
    private let locks: PostgresLocks
    private let refusals: PostgresRefusals
    private let queue: DispatchQueue
    private let reads: String
    private let writes: String
    private let signals: String
    private let trim: String
    private let presence: String

    init(
        _ number: Int, _ options: PostgresOptions, _ pool: PostgresPool,
        _ links: PostgresLinks, _ troubles: Troubles, _ locks: PostgresLocks,
        _ refusals: PostgresRefusals,
        notice: @escaping @Sendable (UpstreamNotice) -> Void,
        changed: @escaping @Sendable (Bool) -> Void
    ) {
        self.number = number
        self.options = options
        self.pool = pool
        self.links = links
        self.troubles = troubles
        self.locks = locks
        self.refusals = refusals
        self.notice = notice
        self.changed = changed
        queue = DispatchQueue(label: "gapless.postgres.\(number)", qos: .userInitiated)
        let schema = Schema.quoted(options.schema)
        reads =
            "select \(schema).gateway_read(q) from json_array_elements($1::json)"
            + " with ordinality as t(q, n) order by n"
        writes = "select * from \(schema).gateway_write($1::json, $2::boolean)"
        signals = "select * from \(schema).gateway_signal($1::json)"
        presence = "select \(schema).gateway_presence($1::json)"
        trim =
            "select \(schema).gateway_trim(100, \(options.retain), \(options.retainIds),"
            + " \(options.retainMarks), 1000)"
    }

    func start() { queue.async { self.run() } }

    /// Returns when the thread has ended.
    func wait() { queue.sync {} }

    // MARK: on the thread

    private var wakeup: Wakeup { pool.wakeups[number] }

    private func run() {
        var backoff = Backoff(
            base: options.backoffBase, limit: min(options.backoffMax, Backoff.longest))
        while !pool.isFinished {
            guard links.hasServer else {
                // Why there is none is the listener's to say.
                _ = troubles.isOver("connection \(number)")
                rest(until: .now + Self.glance)
                continue
            }
            do throws(PostgresError) {
                let session = try PostgresSession(options, at: links.host) {
                    pool.expire(.now)
                    return pool.isFinished
                }
                try serve(session) { backoff.succeeded() }
            } catch {
                lost(error)
            }
            let until = ContinuousClock.now + backoff.failed()
            while !pool.isFinished, ContinuousClock.now < until { rest(until: until) }
        }
        links.worker(number, is: nil)
        _ = troubles.isOver("connection \(number)")
    }

    private static let glance = Duration.milliseconds(100)

    /// Waits for a glance at most, without a connection.
    private func rest(until moment: ContinuousClock.Instant) {
        // When stopping, queued jobs don't wait for a server to come back.
        let grace = pool.isStopped ? options.deadline : .zero
        pool.expire(.now + grace)
        _ = Wakeup.poll(nil, writing: false, wakeup, until: min(moment, .now + Self.glance))
    }

    private func lost(_ error: PostgresError) {
        links.worker(number, is: nil)
        changed(error.code == .stranger)
        if let line = troubles.line("connection \(number)", UpstreamNotice(error)) {
            notice(line)
        }
    }

    /// Works until the connection breaks, or its server is no longer the feed's.
    private func serve(
        _ session: PostgresSession, opened: () -> Void
    ) throws(PostgresError) {
        let connection = session.connection
        var nextProbe = ContinuousClock.now + options.deadline / 2
        var isKnown = false
        while !pool.isFinished {
            // One is enough to ask with, and the listener needs a place.
            if number > 0, links.isShutOut { return links.worker(number, is: nil) }
            try admit(session)
            if !isKnown {
                isKnown = true
                links.worker(number, is: session.identity)
                if troubles.isOver("connection \(number)") {
                    notice(
                        UpstreamNotice(.originConnected, "connected to \(connection.server)"))
                }
                opened()
                changed(false)
            }
            if let task = pool.take(number) {
                // A feed that began meanwhile may be at another server; then this task must not run
                // here.
                do throws(PostgresError) {
                    try admit(session)
                } catch {
                    pool.finish(task, task.jobs.map { _ in .failure(.originUnavailable) })
                    throw error
                }
                try perform(task, session)
                nextProbe = .now + options.deadline / 2
                continue
            }
            pool.expire(.now)
            if ContinuousClock.now >= nextProbe {
                _ = try connection.exchange(
                    [.init("select 1")], until: .now + options.deadline)
                nextProbe = .now + options.deadline / 2
            }
            let ready = Wakeup.poll(
                connection.descriptor, writing: false, wakeup,
                until: min(nextProbe, .now + .milliseconds(250)))
            if ready.isReadable { _ = try connection.receive() }
        }
    }

    /// - Throws: `PostgresError.stranger`, unless the connection is to the feed's server.
    private func admit(_ session: PostgresSession) throws(PostgresError) {
        guard !links.admits(session.identity) else { return }
        throw PostgresError(
            .stranger, doing: "use", on: session.connection.server,
            seen: "another server, or another start of it, than the feed comes from",
            detail: "connecting again")
    }

    // MARK: tasks

    private func perform(
        _ task: PostgresPool.Task, _ session: PostgresSession
    ) throws(PostgresError) {
        let result: Result<[PostgresResult], PostgresConnection.Refused>
        do throws(PostgresError) {
            result = try exchange(task, session)
        } catch {
            let fate: RequestError = task.isRead ? .originUnavailable : .fateUnknown
            pool.finish(task, task.jobs.map { _ in .failure(fate) })
            throw error
        }
        switch result {
        case .failure(let refused): try self.refused(task, refused.refusal, session)
        case .success(let results):
            // If settings go along, the answers are those of one statement.
            let rows = results.dropFirst(task.answersAt).first?.rows ?? []
            guard rows.count == task.jobs.count else {
                pool.finish(task, task.jobs.map { _ in .failure(.unreadable) })
                return
            }
            let answers = rows.map { PostgresAnswer($0.first ?? nil) }
            accepted(task, answers, session)
            pool.finish(
                task, answers.map { $0.map { .success($0) } ?? .failure(.unreadable) })
        }
    }

    /// The server executed the task: earlier problems of its kind are over.
    private func accepted(
        _ task: PostgresPool.Task, _ answers: [PostgresAnswer?], _ session: PostgresSession
    ) {
        guard task.isWrite else {
            _ = troubles.isOver(task.kind)
            return
        }
        let passed = zip(task.jobs, answers).filter { $1?.word != "locked" }
        locks.passed(passed.compactMap(\.0.conversation))
        refusals.passed(passed.filter { $1?.word != "error" }.compactMap(\.0.conversation))
        let refused = passed.filter { $1?.word == "error" }
            .map { (job: $0, state: $1?["state"]?.string ?? "-") }
        // The functions of an earlier schema take the server's state for that of one write.
        if let state = refused.map(\.state).first(where: { $0.hasPrefix("25") }) {
            return refuse(task, "refused", state, session)
        }
        troubles.takesWrites()
        for (job, state) in refused {
            guard let line = job.conversation.flatMap({ refusals.refused($0, state) }) else {
                continue
            }
            notice(line)
        }
    }

    /// Sends the task and waits for its transaction to end.
    private func exchange(
        _ task: PostgresPool.Task, _ session: PostgresSession
    ) throws(PostgresError) -> Result<[PostgresResult], PostgresConnection.Refused> {
        let connection = session.connection
        try connection.send(statements(task))
        var limit = options.deadline
        if !task.isRead { limit += options.lockTimeout }
        let began = ContinuousClock.now
        var hasAsked = false
        while true {
            let isWriting = try connection.flush()
            guard ContinuousClock.now < began + limit else {
                throw PostgresError(
                    .deadline, doing: "ask", on: connection.server, seen: "no answer in time",
                    detail: "\(limit)")
            }
            let glance = ContinuousClock.now + .milliseconds(100)
            let ready = Wakeup.poll(
                connection.descriptor, writing: isWriting, nil,
                until: min(began + limit, glance))
            if ready.isReadable, let ended = try connection.receive().first { return ended }
            // One that goes with others waits for no row, but for a lock on all of them.
            if task.isWrite, !hasAsked, ContinuousClock.now >= began + options.lockTimeout / 4 {
                hasAsked = true
                locks.ask(task.jobs.first?.conversation, heldFrom: session.process)
            }
            pool.expire(.now)
        }
    }

    private func statements(_ task: PostgresPool.Task) -> [PostgresConnection.Statement] {
        var list: [UInt8] = [UInt8(ascii: "[")]
        for (place, job) in task.jobs.enumerated() {
            if place > 0 { list.append(UInt8(ascii: ",")) }
            list += job.argument
        }
        list.append(UInt8(ascii: "]"))
        switch task {
        case .reads: return [.init(reads, [list])]
        case .writes: return [.init(writes, [list, Array("false".utf8)])]
        case .alone(let job):
            // Part of the time was spent in the queue; 0 would mean for ever.
            let left = max(1, (job.lockEnds(options) - .now).milliseconds)
            return [
                .init(
                    "select set_config('lock_timeout', $1, true)", [Array("\(left)ms".utf8)]),
                .init(writes, [list, Array("true".utf8)]),
            ]
        case .trim: return [.init(trim)]
        case .presence(let job):
            // What a loss takes is said again in the era that follows.
            return [Self.withoutFlush, .init(presence, [job.argument])]
        case .signals(let jobs):
            let signal = PostgresConnection.Statement(signals, [list])
            if jobs.first?.isDurable ?? true { return [signal] }
            return [Self.withoutFlush, signal]
        }
    }

    /// The statements are one transaction, so the setting ends with it, even if it fails.
    private static let withoutFlush = PostgresConnection.Statement(
        "select set_config('synchronous_commit', 'off', true)")

    /// The server refused the task; nothing of it was executed, unless a commit was in flight.
    /// - Throws: `PostgresError`, if the connection can no longer be used.
    private func refused(
        _ task: PostgresPool.Task, _ refusal: PostgresResult.Refusal, _ session: PostgresSession
    ) throws(PostgresError) {
        let seen = refusal.text ?? "refused"
        func end(_ error: RequestError) {
            pool.finish(task, task.jobs.map { _ in .failure(error) })
        }
        // Who sends it again waits for the standby anew, since each write locks its conversation.
        if refusal.isCommitted {
            say(.originStandbySilent, task, seen, refusal.state, session)
            return end(.maybeOnlyHere)
        }
        // An installation of an earlier version has no such function; that is no trouble.
        if case .presence = task {
            if refusal.state == "42883" { return end(.notUpgraded) }
            // A deadlock or the like: nothing was done, and the next attempt finds it over.
            if refusal.state.hasPrefix("40") { return pool.again(task) }
        }
        switch refusal.state.prefix(2) {
        case "55" where refusal.state == "55P03":
            if task.isWrite { for job in task.jobs { locks.blocked(job.conversation) } }
            return end(.conversationLocked)
        case "57" where refusal.state.hasPrefix("57P"), "08":
            // The server ends the connection; it may have committed before.
            end(task.isRead ? .originUnavailable : .fateUnknown)
            throw PostgresError(
                .broken, doing: "ask", on: session.connection.server, seen: seen,
                detail: refusal.state)
        case "40" where task.jobs.count > 1, "22", "23", "P0", "XX":
            if task.jobs.count > 1 { return pool.again(task) }
            say(LogEvent(sqlState: refusal.state), task, seen, refusal.state, session)
            return end(.unreadable)
        default:
            refuse(task, seen, refusal.state, session)
            return end(refusal.state == "42501" ? .gatewayRefused : .refusedForNow)
        }
    }

    /// The server takes no work of this kind.
    private func refuse(
        _ task: PostgresPool.Task, _ seen: String, _ state: String, _ session: PostgresSession
    ) {
        say(LogEvent(sqlState: state), task, seen, state, session)
        guard task.isWrite, task.jobs.contains(where: { !$0.isLook }) else { return }
        troubles.refused(RefusedWrite(sqlState: state))
    }

    private func say(
        _ event: LogEvent, _ task: PostgresPool.Task, _ seen: String, _ state: String,
        _ session: PostgresSession
    ) {
        let text = "ask \(session.connection.server): \(seen) (\(state))"
        if let line = troubles.line(task.kind, UpstreamNotice(event, text)) { notice(line) }
    }
}

extension RequestError {
    fileprivate static let notUpgraded = RequestError(
        .notEnabled,
        "the database does not keep who is there (accepted: after `gapless postgres upgrade`)")
    /// It is committed, and a failover may lose it; sending it again waits for the standby anew.
    fileprivate static let maybeOnlyHere = RequestError(
        .originNotReplicated, "the origin's standby may not have it")
}

extension LogEvent {
    /// Maps the server's SQLSTATE.
    fileprivate init(sqlState state: String) {
        switch state {
        case "42501": self = .originRightMissing
        case "25006": self = .originIsReplica
        case "53100": self = .originCannotSave
        case "53200": self = .originOutOfMemory
        case "53300": self = .originFull
        default: self = .originRefuses
        }
    }
}

extension UpstreamNotice {
    init(_ error: PostgresError) {
        let event: LogEvent =
            switch error.code {
            case .url, .unreachable, .deadline, .broken: .originUnreachable
            case .credentials: .originPasswordRefused
            case .full: .originFull
            case .refused: .originRefuses
            case .pooler: .originPoolerBetween
            case .standby: .originIsReplica
            case .stranger: .originExchanged
            case .schema: .originSchemaUnfit
            }
        self.init(event, error.description)
    }
}

extension RefusedWrite {
    /// Maps the server's SQLSTATE.
    fileprivate init(sqlState state: String) {
        switch state {
        case "42501", "28000": self = .noperm
        case "25006": self = .readonly
        case "53100", "53200", "54000": self = .oom
        default: self = .other
        }
    }
}
