import Ports
import Synchronization
import Wire

/// The queue of database work and the connections that take it: a turn's questions in one query, a
/// turn's writes in one transaction. A write whose conversation is locked by another transaction
/// goes alone and waits; later writes of that conversation queue behind it, so at most one
/// connection waits for a conversation, and never all of them.
final class PostgresPool: Sendable {
    typealias Completion = @Sendable (Result<PostgresAnswer, RequestError>) -> Void

    /// A piece of work: a question, a write, a signal, a trim, or who is there.
    struct Job: Sendable {
        /// The argument of our database function: a JSON object.
        var argument: [UInt8]
        var deadline: ContinuousClock.Instant
        /// The conversation that it locks, if any.
        var conversation: ID?
        /// Whether it must run alone: its batch failed as a whole.
        var isSingle = false
        /// Whether it is a trim.
        var isTrim = false
        /// Whether it is about who is there.
        var isPresence = false
        /// Whether it only looks if something is possible again.
        var isLook = false
        /// Whether it must survive a crash of the server.
        var isDurable = true
        /// The user whose call it belongs to.
        let payer = Payer.current
        /// When it may be retried, after it met a lock.
        var due: ContinuousClock.Instant?
        var then: Completion

        /// The deadline of its wait for a locked conversation.
        func lockEnds(_ options: PostgresOptions) -> ContinuousClock.Instant {
            deadline - options.deadline
        }
    }

    /// The unit of work of a connection.
    enum Task: Sendable {
        case reads([Job])
        case writes([Job])
        case alone(Job)
        case signals([Job])
        case trim(Job)
        case presence(Job)

        var isRead: Bool { if case .reads = self { true } else { false } }

        /// Whether it writes to logs.
        var isWrite: Bool {
            switch self {
            case .writes, .alone: true
            case .reads, .signals, .trim, .presence: false
            }
        }

        /// The index of the answering statement among those sent for the task.
        var answersAt: Int {
            switch self {
            case .reads, .writes, .trim: 0
            case .alone, .presence: 1
            case .signals(let jobs): jobs.first?.isDurable ?? true ? 0 : 1
            }
        }

        /// The subject of its problems in health.
        var kind: String {
            switch self {
            case .reads: "reads"
            case .writes, .alone: "writes"
            case .signals: "signals"
            case .trim: "trimming"
            case .presence: "presence"
            }
        }

        var jobs: [Job] {
            switch self {
            case .reads(let jobs), .writes(let jobs), .signals(let jobs): jobs
            case .alone(let job), .trim(let job), .presence(let job): [job]
            }
        }
    }

    /// The most queued jobs; beyond it a refusal instead of a wait.
    private static let limit = 10_000
    /// The most bytes of their arguments.
    private static let byteLimit = 64 << 20
    /// The most jobs of a batch, and the most bytes of their arguments.
    private static let readsTogether = 64
    private static let writesTogether = 256
    private static let bytesTogether = 1 << 20
    /// The shortest wait of a signal before it retries a lock.
    private static let signalPause = Duration.milliseconds(100)

    private struct State {
        var reads = Fifo<Job>()
        var writes = Fifo<Job>()
        var signals = Fifo<Job>()
        /// Signals that met a lock, in the order of their retries.
        var putOff = Fifo<Job>()
        /// Writes that wait for a locked conversation, in order.
        var lines: [ID: Fifo<Job>] = [:]
        /// The conversations of `lines` without a write that waits at the server.
        var ready = Fifo<ID>()
        var waitingAtServer = 0
        /// Whether a batch of writes is in flight. One at a time: two would lock each other out.
        var isWriting = false
        var room = SharedRoom(jobs: limit, bytes: byteLimit)
        var idle: Set<Int> = []
        var isStopped = false
        /// All connections have ended.
        var isClosed = false
    }

    private let options: PostgresOptions
    let wakeups: [Wakeup]
    private let state = Mutex(State())

    init(_ options: PostgresOptions) {
        self.options = options
        wakeups = (0..<max(2, options.connections)).map { _ in Wakeup() }
    }

    /// The most connections that may wait for locks: the others stay free.
    private var waitersLimit: Int { max(1, wakeups.count - 2) }

    // MARK: asking

    private enum Kind { case read, write, signal }

    func read(_ question: [UInt8], then: @escaping Completion) {
        let deadline = ContinuousClock.now + options.deadline
        put(Job(argument: question, deadline: deadline, then: then), .read)
    }

    /// Adds questions together, so that they are read at one moment if they fit one query.
    func read(_ questions: [(question: [UInt8], then: Completion)]) {
        let deadline = ContinuousClock.now + options.deadline
        let (refused, worker) = state.withLock { state -> ([Completion], Int?) in
            let hasRoom = state.room.count + questions.count <= Self.limit
            guard hasRoom, state.room.hasRoom(for: .current), !state.isClosed else {
                return (questions.map { $0.then }, nil)
            }
            for (question, then) in questions {
                let job = Job(argument: question, deadline: deadline, then: then)
                state.room.enter(job.payer, bytes: job.argument.count)
                state.reads.append(job)
            }
            return ([], state.idle.popFirst())
        }
        for then in refused { then(.failure(.tooManyWaiting)) }
        if let worker { wakeups[worker].wake() }
    }

    func write(_ operation: [UInt8], of conversation: String, then: @escaping Completion) {
        let deadline = ContinuousClock.now + options.lockTimeout + options.deadline
        put(
            Job(
                argument: operation, deadline: deadline, conversation: conversation.id, then: then),
            .write)
    }

    func signal(_ signal: [UInt8], isDurable: Bool, then: @escaping Completion) {
        let deadline = ContinuousClock.now + options.deadline
        put(
            Job(argument: signal, deadline: deadline, isDurable: isDurable, then: then), .signal)
    }

    /// Looks whether the server takes work of this kind: by a question about nobody, a write of
    /// nothing, a signal that nobody reads, or a trim.
    func look(_ kind: String) {
        func look(_ kind: Kind, _ argument: String) {
            let deadline = ContinuousClock.now + options.deadline
            put(
                Job(
                    argument: Array(argument.utf8), deadline: deadline, isLook: true,
                    isDurable: false
                ) { _ in }, kind)
        }
        switch kind {
        case "reads": look(.read, #"{"q":"blocked","pid":0}"#)
        case "writes": look(.write, #"{"op":"append","c":"","messages":[]}"#)
        case "signals": look(.signal, #"{"s":"ring","payload":"look"}"#)
        case "trimming": trim { _ in }
        default: break
        }
    }

    /// The listener has a server: the other connections may follow.
    func wakeAll() { for wakeup in wakeups { wakeup.wake() } }

    /// Trims what need not be kept.
    func trim(then: @escaping Completion) {
        let deadline = ContinuousClock.now + options.deadline
        put(Job(argument: [], deadline: deadline, isTrim: true, then: then), .read)
    }

    /// Says, renews and reads who is there.
    func presence(_ question: [UInt8], then: @escaping Completion) {
        let deadline = ContinuousClock.now + options.deadline
        put(Job(argument: question, deadline: deadline, isPresence: true, then: then), .read)
    }

    private func put(_ job: Job, _ kind: Kind) {
        let (isTaken, worker) = state.withLock { state -> (Bool, Int?) in
            guard state.room.hasRoom(for: job.payer), !state.isClosed else { return (false, nil) }
            state.room.enter(job.payer, bytes: job.argument.count)
            switch kind {
            case .read: state.reads.append(job)
            case .write: state.writes.append(job)
            case .signal: state.signals.append(job)
            }
            return (true, state.idle.popFirst())
        }
        guard isTaken else { return job.then(.failure(.tooManyWaiting)) }
        if let worker { wakeups[worker].wake() }
    }

    // MARK: for the connections

    /// The next task of a connection; nil: none, and the connection is woken when there is one.
    func take(_ worker: Int) -> Task? {
        let (task, next) = state.withLock { state -> (Task?, Int?) in
            let task = self.next(&state)
            state.idle.remove(worker)
            guard task != nil else {
                state.idle.insert(worker)
                return (nil, nil)
            }
            // There may be work for another connection.
            let hasMore =
                !state.reads.isEmpty || !state.signals.isEmpty || !state.ready.isEmpty
                || !state.writes.isEmpty && !state.isWriting
            return (task, hasMore ? state.idle.popFirst() : nil)
        }
        if let next { wakeups[next].wake() }
        return task
    }

    private func next(_ state: inout State) -> Task? {
        if !state.isWriting {
            let batch = writes(&state)
            if !batch.isEmpty {
                state.isWriting = true
                return .writes(batch)
            }
        }
        if let job = state.reads.first, job.isTrim {
            _ = state.reads.popFirst()
            return .trim(job)
        }
        if let job = state.reads.first, job.isPresence {
            _ = state.reads.popFirst()
            return .presence(job)
        }
        let reads = Self.together(&state.reads, limit: Self.readsTogether) { _, next in
            !next.isTrim && !next.isPresence
        }
        if !reads.isEmpty { return .reads(reads) }
        var due: [Job] = []
        while let job = state.putOff.first, job.due.map({ $0 <= .now }) ?? true {
            _ = state.putOff.popFirst()
            due.append(job)
        }
        // They are older than all that wait.
        state.signals.prepend(due)
        let signals = Self.together(&state.signals, limit: Self.readsTogether) {
            $0.isDurable == $1.isDurable
        }
        if !signals.isEmpty { return .signals(signals) }
        guard state.waitingAtServer < waitersLimit else { return nil }
        while let conversation = state.ready.popFirst() {
            guard let job = state.lines[conversation]?.popFirst() else {
                state.lines[conversation] = nil
                continue
            }
            state.waitingAtServer += 1
            return .alone(job)
        }
        return nil
    }

    /// The next batch of writes; writes of locked conversations are moved to their lines.
    private func writes(_ state: inout State) -> [Job] {
        var rest = Fifo<Job>()
        while let job = state.writes.popFirst() {
            if let conversation = job.conversation, state.lines[conversation] != nil {
                state.lines[conversation]?.append(job)
            } else {
                rest.append(job)
            }
        }
        state.writes = rest
        return Self.together(&state.writes, limit: Self.writesTogether) { _, _ in true }
    }

    private static func together(
        _ jobs: inout Fifo<Job>, limit: Int, isSame: (Job, Job) -> Bool
    ) -> [Job] {
        var taken: [Job] = []
        var bytes = 0
        while taken.count < limit, bytes < bytesTogether, let job = jobs.first {
            if let first = taken.first, job.isSingle || first.isSingle || !isSame(first, job) {
                break
            }
            _ = jobs.popFirst()
            bytes += job.argument.count
            taken.append(job)
        }
        return taken
    }

    /// Takes the results of a task. Writes that met a lock join the conversation's line.
    func finish(_ task: Task, _ results: [Result<PostgresAnswer, RequestError>]) {
        var done: [(Job, Result<PostgresAnswer, RequestError>)] = []
        state.withLock { state in
            for (job, result) in zip(task.jobs, results) {
                let isLocked = (try? result.get())?.word == "locked"
                if case .signals = task, isLocked {
                    var job = job
                    job.due = .now + Self.signalPause
                    state.putOff.append(job)
                } else if case .writes = task, isLocked, let conversation = job.conversation {
                    if state.lines[conversation] == nil {
                        state.lines[conversation] = Fifo()
                        state.ready.append(conversation)
                    }
                    state.lines[conversation]?.append(job)
                } else {
                    done.append((job, result))
                }
            }
            switch task {
            case .writes: state.isWriting = false
            case .alone(let job): leave(job, &state)
            case .reads, .signals, .trim, .presence: break
            }
            for (job, _) in done { state.room.leave(job.payer, bytes: job.argument.count) }
        }
        for (job, result) in done { Self.end(job, result) }
        wake()
    }

    /// What follows from its result is of the same user.
    private static func end(_ job: Job, _ result: Result<PostgresAnswer, RequestError>) {
        Payer.$current.withValue(job.payer) { job.then(result) }
    }

    /// Queues the jobs of a task again, each to run alone: the batch was refused as a whole. They
    /// stay before those that came after them.
    func again(_ task: Task) {
        state.withLock { state in
            let jobs = task.jobs.map { job in
                var job = job
                job.isSingle = true
                return job
            }
            switch task {
            case .reads, .trim, .presence: state.reads.prepend(jobs)
            case .writes, .alone: state.writes.prepend(jobs)
            case .signals: state.signals.prepend(jobs)
            }
            if case .writes = task { state.isWriting = false }
        }
        wake()
    }

    private func leave(_ job: Job, _ state: inout State) {
        state.waitingAtServer -= 1
        guard let conversation = job.conversation else { return }
        if state.lines[conversation]?.isEmpty ?? true {
            state.lines[conversation] = nil
        } else {
            state.ready.append(conversation)
        }
    }

    private func wake() {
        let worker = state.withLock { $0.idle.popFirst() }
        if let worker { wakeups[worker].wake() }
    }

    // MARK: the end of things

    /// Fails jobs whose deadline passed in the queue.
    func expire(_ now: ContinuousClock.Instant) {
        let expired = state.withLock { state in
            var expired: [(Job, RequestError)] = []
            func drop(
                _ jobs: inout Fifo<Job>, _ error: RequestError,
                by end: (Job) -> ContinuousClock.Instant = { $0.deadline }
            ) {
                while let job = jobs.first, end(job) <= now {
                    expired.append((job, error))
                    _ = jobs.popFirst()
                }
            }
            drop(&state.reads, .originUnavailable)
            drop(&state.writes, .originUnavailable)
            drop(&state.signals, .originUnavailable)
            drop(&state.putOff, .conversationLocked)
            for conversation in state.lines.keys {
                // A write in a line waits no longer than one that waits at the server.
                drop(&state.lines[conversation, default: Fifo()], .conversationLocked) {
                    $0.lockEnds(options)
                }
            }
            for (job, _) in expired { state.room.leave(job.payer, bytes: job.argument.count) }
            return expired
        }
        for (job, error) in expired { Self.end(job, .failure(error)) }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        wakeAll()
    }

    /// Whether a connection may end: no work is left.
    var isFinished: Bool { state.withLock { $0.isStopped && $0.room.count == 0 } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Refuses queued and new jobs.
    func close() {
        state.withLock { $0.isClosed = true }
        expire(.now + .seconds(3600))
    }
}

extension RequestError {
    /// Another transaction holds the conversation.
    static let conversationLocked = RequestError(
        .conversationLocked,
        "another transaction holds the conversation (upstream.postgres.lock_timeout)")
}
