import Dispatch
import Ports
import Synchronization
import Wire

/// The connection for commands: pipelined, replies in order. It owns a thread that connects and
/// reconnects; jobs come from any thread into a bounded queue with fair queueing among users. Each
/// piece of a job is sent within the deadline or refused, then answered within the deadline; a late
/// one fails alone while others are answered. A job ends with its replies, or with an error that
/// says whether it may have been executed; completions run on the link's thread.
// Safety: `waiting` is a mutex, and what else `let` holds is Sendable; the rest is touched on
// `queue` alone, which is serial and so the link's own thread.
final class CommandLink: @unchecked Sendable {
    typealias Completion = @Sendable (Result<[RedisReply], RequestError>) -> Void

    /// How many times per deadline the server's identity is checked.
    static let pulses = 4

    /// Who answers, as far as it is known.
    private struct Server {
        var identity: RedisIdentity?
        /// The last origin id that lay beside the data.
        var origin: (key: String, id: String)?
    }

    private let options: RedisOptions
    private let master: any MasterSource
    private let links: LinkPair
    private let notice: @Sendable (UpstreamNotice) -> Void
    /// Called when the link comes up, goes down, or finds another identity.
    private let changed: @Sendable () -> Void
    private let queue = DispatchQueue(label: "gapless.redis.commands", qos: .userInitiated)
    private let wakeup = Wakeup()
    private let waiting = Mutex(WaitingJobs())

    private var inFlight = JobsInFlight()
    /// The time of the last replies.
    private var repliedAt = ContinuousClock.now
    private var retries: Retries
    private var server = Server()
    /// Why the connection must be closed, if a reply showed that.
    private var rejection: RedisError?
    private var memory: MemoryPolicy
    private var unsaved: UnsavedChanges

    init(
        _ options: RedisOptions, master: any MasterSource, links: LinkPair,
        notice: @escaping @Sendable (UpstreamNotice) -> Void,
        changed: @escaping @Sendable () -> Void
    ) {
        self.options = options
        self.master = master
        self.links = links
        self.notice = notice
        self.changed = changed
        memory = MemoryPolicy(options)
        unsaved = UnsavedChanges(patience: options.unsavedPatience)
        retries = Retries(of: .commands, options)
    }

    func start() { queue.async { self.run() } }

    /// Finishes the queued jobs within their deadlines, and returns.
    func stop() {
        end()
        queue.sync {}
    }

    /// Ends once the queued jobs are done; does not wait for that.
    func end() {
        waiting.withLock { $0.isStopped = true }
        wakeup.wake()
    }

    /// Sends commands in order; from any thread, without waiting. `then` gets one reply for each.
    /// If they take more than one piece, other commands may come between.
    func send(_ commands: [RedisCommand], then: @escaping Completion) {
        guard !commands.isEmpty else { return then(.success([])) }
        let job = CommandJob(commands, until: .now + options.deadline, then: then)
        let (isTaken, isRung) = waiting.withLock { $0.add(job) }
        guard isTaken else { return then(.failure(.tooManyWaiting)) }
        if isRung { wakeup.wake() }
    }

    /// What is sent until `release` goes to the server together.
    func hold() { waiting.withLock { $0.hold() } }

    func release() {
        if waiting.withLock({ $0.release() }) { wakeup.wake() }
    }

    // MARK: on the thread

    private var isStopped: Bool { waiting.withLock { $0.isStopped } }

    private var isIdle: Bool { waiting.withLock { $0.jobs.count == 0 } }

    private func run() {
        while !(isStopped && isIdle) {
            if retries.isDue(links, master) {
                retries.began()
                do throws(RedisError) {
                    try serve()
                    retries.failed(nil)
                } catch {
                    lost(error)
                    retries.failed(error)
                }
            } else {
                expire(.now)
                _ = Wakeup.poll(
                    nil, writing: false, wakeup, until: min(retries.wait, nextDeadline))
                // When stopping, queued jobs don't wait for a server to come back.
                if isStopped { expire(.now + options.deadline) }
            }
        }
        waiting.withLock { $0.isFinished = true }
        _ = links.isOver("commands")
        _ = links.isOver("eviction")
        _ = links.isOver("server")
        expire(.now + options.deadline)
    }

    private var nextDeadline: ContinuousClock.Instant {
        waiting.withLock { $0.jobs.deadline } ?? .now + options.deadline
    }

    /// Fails jobs whose deadline passed in the queue.
    private func expire(_ now: ContinuousClock.Instant) {
        for job in waiting.withLock({ $0.jobs.expired(now) }) {
            // Pieces of a long job may have been executed.
            finish(job, .failure(job.sent == 0 ? .originUnavailable : .fateUnknown))
        }
    }

    private func finish(_ job: CommandJob, _ result: Result<[RedisReply], RequestError>) {
        waiting.withLock { $0.jobs.end(job) }
        guard !job.isGivenUp else { return }
        // Follow-up commands count for the same user.
        Payer.$current.withValue(job.payer) { job.then(result) }
    }

    /// The connection broke: the results of jobs in flight are unknown.
    private func lost(_ error: RedisError) {
        links.commandsClosed(isDemoted: error.code == .notMaster)
        changed()
        if let line = links.line("commands", UpstreamNotice(error)) { notice(line) }
        server.identity = nil
        while let job = inFlight.popFirst() { finish(job, .failure(.fateUnknown)) }
    }

    /// Connects and works until the connection breaks.
    /// - Throws: `RedisError`, with what broke it.
    private func serve() throws(RedisError) {
        let askedAt = ContinuousClock.now
        guard let address = master.master(at: askedAt) else { throw .noMaster }
        let session = try RedisSession(
            options, at: address, origin: master.origin(), scripts: RedisScript.allCases)
        opened(session, askedAt)
        let connection = session.connection
        var nextPulse = ContinuousClock.now
        while !(isStopped && isIdle) {
            let now = ContinuousClock.now
            expire(now)
            guard master.master(at: now) == address else { throw .noMaster }
            if now >= nextPulse {
                pulse(session)
                nextPulse = now + options.deadline / Self.pulses
            }
            take(for: session)
            try connection.flush()
            let ready = Wakeup.poll(
                connection.descriptor, writing: connection.hasOutput, wakeup,
                until: min(nextPulse, inFlight.first?.deadline ?? nextPulse))
            if ready.isReadable {
                let replies = try connection.receive()
                repliedAt = .now
                for reply in replies { received(reply, session) }
            }
            if let rejection { throw rejection }
            if let late = inFlight.first, late.deadline <= .now {
                guard ContinuousClock.now < repliedAt + options.deadline else {
                    throw RedisError(
                        .deadline, doing: "ask", on: "\(address)", seen: "no reply in time",
                        detail: "\(options.deadline)")
                }
                giveUp()
            }
        }
    }

    /// The oldest job in flight is late while others are answered: it alone fails. Its replies are
    /// still to come.
    private func giveUp() {
        let late = inFlight.withFirst { job -> CommandJob? in
            defer {
                job.isGivenUp = true
                job.deadline = .now + options.deadline
            }
            return job.isGivenUp ? nil : job
        }
        guard let job = late ?? nil else { return }
        Payer.$current.withValue(job.payer) { job.then(.failure(.fateUnknown)) }
    }

    private func opened(_ session: RedisSession, _ askedAt: ContinuousClock.Instant) {
        judge(session.info)
        rejection = nil
        inFlight = JobsInFlight()
        repliedAt = .now
        found(session.identity, askedAt)
        if links.isOver("commands") {
            notice(
                UpstreamNotice(
                    .originConnected, "commands go to Redis at \(session.connection.address)"))
        }
        retries.succeeded()
    }

    private func found(_ identity: RedisIdentity, _ askedAt: ContinuousClock.Instant) {
        links.confirmed(identity, askedAt: askedAt)
        guard identity != server.identity else { return }
        if let origin = server.origin, !origin.id.isEmpty, origin.key == identity.key,
            origin.id != identity.origin
        {
            notice(
                UpstreamNotice(
                    .originEmptied,
                    "Redis has lost its data: it was emptied, came back without it, or another"
                        + " server answers there (another id lies beside it)"))
        }
        server.origin = (identity.key, identity.origin)
        server.identity = identity
        changed()
    }

    /// Sends queued jobs, as far as the window allows.
    private func take(for session: RedisSession) {
        let now = ContinuousClock.now
        while let job = waiting.withLock({ $0.next(beside: inFlight) }) {
            append(job, to: session, at: now)
        }
    }

    /// Sends the job's next piece.
    private func append(
        _ job: CommandJob, to session: RedisSession, at now: ContinuousClock.Instant
    ) {
        var job = job
        for command in job.advance(behind: inFlight, at: now) {
            session.connection.append(command, digests: session.digests)
        }
        job.deadline = now + options.deadline
        inFlight.append(job)
    }

    private func received(_ reply: RedisReply, _ session: RedisSession) {
        let isWhole = inFlight.withFirst { job in
            job.replies.append(reply)
            return job.isAnswered
        }
        guard let isWhole else {
            rejection = RedisError(
                .malformed, doing: "read from", on: "\(session.connection.address)",
                seen: "a reply to nothing", detail: "RESP2")
            return
        }
        guard isWhole, let job = inFlight.answered(at: repliedAt) else { return }
        let replies = job.replies[job.piece]
        if !job.isGivenUp, replies.contains(where: { $0.errorCode == "NOSCRIPT" }) {
            return repeatWithScripts(job, session)
        }
        // A master that became a replica: it did not do what it refused, and would refuse the rest.
        if replies.contains(where: { $0.errorCode == "READONLY" }) { rejection = .noMaster }
        answered(job)
    }

    /// A piece of the job is answered.
    private func answered(_ job: CommandJob) {
        guard !job.isDone, !job.isGivenUp else { return finish(job, .success(job.replies)) }
        var job = job
        job.deadline = .now + options.deadline
        waiting.withLock { $0.jobs.putBack(job) }
    }

    /// The server's scripts were flushed. Refused commands were not executed, and are sent again
    /// with the script's text.
    private func repeatWithScripts(_ job: CommandJob, _ session: RedisSession) {
        let refused = job.piece.filter { at in
            // `ASKING` goes before its command again.
            let next = job.commands[at].isAsking ? at + 1 : at
            return job.replies[next].errorCode == "NOSCRIPT"
        }
        var again = CommandJob(
            refused.map { job.commands[$0] }, until: .now + options.deadline,
            then: { result in
                switch result {
                case .failure(let error): self.finish(job, .failure(error))
                case .success(let replies):
                    var job = job
                    for (at, reply) in zip(refused, replies) { job.replies[at] = reply }
                    self.answered(job)
                }
            })
        waiting.withLock { $0.jobs.begin(again) }
        for command in again.advance(behind: inFlight, at: .now) {
            session.connection.append(command)
        }
        inFlight.append(again)
    }

    /// Logs a memory policy by which the server may evict our keys, and that it saves nothing.
    private func judge(_ info: RedisInfo) {
        if let text = unsaved.judge(info, at: .now) {
            notice(UpstreamNotice(.originKeepsNothing, text))
        }
        guard let trouble = memory.judge(info) else {
            _ = links.isOver("eviction")
            return
        }
        if let line = links.line("eviction", UpstreamNotice(.originMayEvict, trouble)) {
            notice(line)
        }
    }

    /// Logs, and shows in health, that the server refuses writes; its next answer ends that.
    private func attempted(_ reply: RedisReply, on address: RedisOptions.Address) {
        guard reply.errorCode != nil else { return links.accepts() }
        let error = RedisError(.refused, doing: "try a write on", on: "\(address)", reply)
        if let line = links.line("server", UpstreamNotice(error)) { notice(line) }
    }

    /// Checks the connection: that it is alive, that the server is still the master, and that the
    /// data is the same.
    private func pulse(_ session: RedisSession) {
        let key = master.origin()
        let origin = Array("\(options.prefix)\(key)".utf8)
        var commands: [RedisCommand] = [
            .words("INFO", "replication", "memory", "keyspace", "persistence"),
            .words([Array("GET".utf8), origin]),
        ]
        let scan = memory.question
        if let scan { commands.append(scan) }
        let channel = Array("\(options.prefix)\(key)".utf8)
        commands.append(
            .script(
                .attempt, keys: options.isCluster ? [] : [origin],
                arguments: [options.publishing, channel]))
        let process = session.identity.process
        let address = session.connection.address
        let askedAt = ContinuousClock.now
        let job = CommandJob(commands, until: .now + options.deadline) { result in
            guard case .success(let replies) = result else { return }
            self.attempted(replies[replies.count - 1], on: address)
            // The server is alive, but can't tell its identity now.
            if replies[0].errorCode.map(RedisReply.signsOfLife.contains) == true { return }
            let info = RedisInfo(replies[0])
            if scan != nil { self.memory.take(replies[2]) }
            self.judge(info)
            guard info["role"] == "master" else { return self.rejection = .noMaster }
            // The key is migrating to another node; that says nothing about this one.
            let isUnknown = replies[1].errorCode != nil
            let id = isUnknown ? self.server.identity?.origin : replies[1].string
            self.found(
                RedisIdentity(
                    process: process, replication: info["master_replid"] ?? "", key: key,
                    origin: id ?? ""), askedAt)
        }
        waiting.withLock { $0.jobs.begin(job) }
        append(job, to: session, at: askedAt)
    }
}

extension RequestError {
    static let tooManyWaiting = RequestError(
        .originOverloaded, "the origin has too many requests waiting")
    /// It may have been executed; sending it again with the same idempotency key shows that.
    static let fateUnknown = RequestError(
        .originAnswerLost, "the connection to the origin broke before it answered")
}
