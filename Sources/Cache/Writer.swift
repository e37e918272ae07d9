import Dispatch
import Ports
import SQLite
import Synchronization

/// Whether jobs were accepted; one that was not will not be done.
@usableFromInline package enum Submission: Sendable, Hashable {
    case taken
    /// All were accepted except those at these positions.
    case full(refused: [Int])
    case stopped
}

/// A writer's totals since its start.
package struct WriterFigures: Sendable, Hashable {
    package var commits = 0
    package var rows = 0
    package var rollbacks = 0
}

/// The one writer of a database file. Any thread submits jobs to a bounded queue, in which users
/// take turns; the writer runs the waiting jobs in one transaction (group commit) until a slice is
/// over, and reports them after the commit: the busier it is, the more jobs share the cost of a
/// commit. Jobs of one user keep their order. A disk failure fails the batch, makes `isWritable`
/// false, and is probed every second until a write succeeds.
///
/// What each job passes through is inlinable, so that the module that has the jobs specializes it,
/// as with `FairQueue`.
// Safety: `work`, `connection`, its statements, `meter` and `retryIsDue` are touched on `queue`
// alone, which is serial: by its own thread, or by one that submits and is within `queue.sync`; the
// rest is a mutex, an atomic or never changes.
@usableFromInline package final class Writer<Work: BatchWork>: @unchecked Sendable {
    /// The most jobs that may wait; one user may have as many as there is room left for others. At
    /// some 30 µs a job it is a third of a second of work; beyond it a job is refused instead of
    /// delayed.
    @inlinable package static var queueLimit: Int { 10_000 }

    /// The most rows of a batch, so that its first job does not wait for long and a failure does
    /// not undo much.
    @inlinable package static var batchLimit: Int { 2_000 }

    /// The most bytes of a batch's values, since the commit writes them all: a job waits some
    /// milliseconds for its batch or for the one before. A larger job goes alone.
    @inlinable package static var batchBytes: Int { 256 << 10 }

    @usableFromInline struct Waiting {
        @usableFromInline var jobs = FairQueue<Work.Job>()
        /// Whether a turn is scheduled that will look at `jobs`.
        @usableFromInline var isScheduled = false
        @usableFromInline var isStopped = false
        @usableFromInline var caller: CallersCommits
    }

    @usableFromInline let queue = DispatchQueue(label: "gapless.writer", qos: .userInitiated)
    @usableFromInline let waiting: Mutex<Waiting>
    private let figuresBox = Mutex(WriterFigures())
    private let writable = Atomic<Bool>(true)
    private let onWritable: @Sendable (CacheError?) -> Void
    @usableFromInline var meter: WriterMeter
    private let store: Store
    private let connection: Connection
    private let transactions: Transactions
    @usableFromInline var work: Work?
    private var retryIsDue = false
    private let checkpoints: Checkpoints
    private let marker: ReadMarker
    private var pages = PagesSinceCheckpoint()
    /// Batches since the last idle work.
    @usableFromInline var untidied = 0

    /// A writer with a connection of its own.
    /// - Parameters:
    ///   - pace: how users take turns.
    ///   - clock: what jobs are measured by.
    ///   - onWritable: called on the writer's queue when `isWritable` changes, with the failure;
    ///     with nil when the file is writable again.
    ///   - makeWork: makes the object that runs the jobs, with the connection that it is to use.
    /// - Throws: `CacheError`, if the file can't be opened.
    package init(
        _ store: Store, pace: WriterPace = WriterPace(), clock: WriterClock = .system(),
        onWritable: @escaping @Sendable (CacheError?) -> Void,
        makeWork: (Connection) throws(CacheError) -> Work
    ) throws(CacheError) {
        connection = try store.writingConnection()
        // Otherwise nobody could tell this process's from another's.
        _ = try connection.integer("PRAGMA wal_autocheckpoint = 0")
        transactions = try Transactions(connection)
        self.onWritable = onWritable
        meter = WriterMeter(pace, clock)
        waiting = Mutex(Waiting(caller: CallersCommits(pace)))
        self.store = store
        checkpoints = try Checkpoints(store)
        marker = try ReadMarker(store)
        try store.place.adopt(connection)
        let work = try makeWork(connection)
        try store.place.commit(by: connection) { () throws(CacheError) in
            try transactions.perform { () throws(CacheError) in
                try work.open()
                try work.settle()
            }
        }
        work.committed([])
        self.work = work
    }

    /// Whether the last write succeeded.
    @usableFromInline package var isWritable: Bool { writable.load(ordering: .relaxed) }

    package var figures: WriterFigures { figuresBox.withLock { $0 } }

    /// Starts with leftover idle work.
    package func start() {
        goOn()
        queue.async { [weak self] in self?.look() }
    }

    private func goOn() {
        let isDue = waiting.withLock { waiting in
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled && !waiting.isStopped
        }
        if isDue { queue.async { self.turn() } }
    }

    /// Submits jobs; from any thread, without waiting. The caller should pass all jobs of one
    /// moment in one call: the writer begins with the first, and on a shared core it would commit
    /// that one before the caller can submit a second.
    ///
    /// With one core for both, a small batch is committed within the call, if nobody waits and the
    /// disk has flushed at once lately; its results come within the call, too.
    @inlinable package func submit(_ jobs: [Work.Job]) -> Submission {
        let (submission, isDue) = waiting.withLock { waiting -> (Submission, Bool) in
            if waiting.isStopped { return (.stopped, false) }
            var refused: [Int] = []
            for (place, job) in jobs.enumerated() {
                let payer = Work.payer(of: job)
                if waiting.jobs.hasRoom(for: payer, of: Self.queueLimit) {
                    waiting.jobs.append(job, for: payer, cost: Self.cost(of: job, payer))
                } else {
                    refused.append(place)
                }
            }
            let isDue = refused.count < jobs.count && !waiting.isScheduled
            if isDue { waiting.isScheduled = true }
            return (refused.isEmpty ? .taken : .full(refused: refused), isDue)
        }
        if isDue {
            if mayWriteHere(jobs) {
                queue.sync { self.turn(mayTidy: false) }
            } else {
                queue.async { self.turn() }
            }
        }
        return submission
    }

    /// Whether the thread that submits the jobs writes them.
    @inlinable func mayWriteHere(_ jobs: [Work.Job]) -> Bool {
        guard isWritable, waiting.withLock({ $0.caller.isDue(at: .now) }) else { return false }
        var (rows, bytes) = (0, 0)
        for job in jobs {
            guard Work.isBrief(job) else { return false }
            rows += Work.weight(of: job)
            bytes += Work.bytes(of: job)
        }
        return CallersCommits.isSmall(rows: rows, bytes: bytes)
    }

    /// The job's cost in fair queueing. The backend writes for many users, so its jobs cost less.
    @inlinable static func cost(of job: Work.Job, _ payer: Payer) -> Int {
        backendShare(of: Work.weight(of: job), payer)
    }

    @inlinable static func backendShare(of weight: Int, _ payer: Payer) -> Int {
        max(1, payer == .gateway ? weight / backendUsers : weight)
    }

    @inlinable static var backendUsers: Int { 100 }

    /// Runs the waiting jobs, releases the work and returns. Must not be called on the writer's
    /// queue.
    package func stop() {
        dispatchPrecondition(condition: .notOnQueue(queue))
        waiting.withLock { $0.isStopped = true }
        queue.sync {
            while let first = takeNext() { run(first) }
            work = nil
            connection.releaseLock()
        }
        // So that the file is complete without its write-ahead log: people copy it.
        checkpoints.stop()
    }

    // MARK: on the queue

    @inlinable func turn(mayTidy: Bool = true) {
        // Idle work gets a turn of its own beside jobs that never end: without it the file would
        // grow, and what was removed would lie about, for as long as they last.
        let isTidyingDue = untidied >= Self.tidyInterval && work?.isTidyingDue == true
        if !isTidyingDue, let first = takeNext() {
            untidied += 1
            run(first)
        } else if mayTidy {
            untidied = 0
            tidy()
        }
        let isWorkLeft = work?.isTidyingDue == true && isWritable
        let isDone = waiting.withLock { waiting in
            waiting.isScheduled = isWorkLeft || !waiting.jobs.isEmpty
            return !waiting.isScheduled
        }
        if !isDone { queue.async { self.turn() } }
    }

    /// The next job by turn.
    @inlinable func takeNext() -> FairQueue<Work.Job>.Piece? {
        waiting.withLock { $0.jobs.popFirst() }
    }

    /// Runs a batch that begins with this job: as many as wait, until the slice is over.
    @inlinable func run(_ first: FairQueue<Work.Job>.Piece) {
        guard let work else { return }
        var jobs = [first.element]
        do throws(CacheError) {
            try transaction { () throws(CacheError) in
                var piece = first
                var (weight, bytes) = (0, 0)
                let began = meter.instant
                var start = began
                meter.begin(at: began)
                while true {
                    try work.write(piece.element)
                    weight += Work.weight(of: piece.element)
                    bytes += Work.bytes(of: piece.element)
                    let end = meter.instant
                    charge(piece, from: start, to: end)
                    guard weight < Self.batchLimit, bytes < Self.batchBytes,
                        end - began < meter.pace.slice, let next = takeNext()
                    else { break }
                    jobs.append(next.element)
                    (piece, start) = (next, end)
                }
                try work.settle()
            }
        } catch {
            // The jobs of the rest of the batch would meet the same disk.
            if error.isOfTheDisk { jobs += rest(of: jobs) }
            return work.rolledBack(jobs, because: error)
        }
        work.committed(jobs)
    }

    /// Charges the user for a job that cost more time than its weight.
    @inlinable func charge(
        _ piece: FairQueue<Work.Job>.Piece, from start: Duration, to end: Duration
    ) {
        let row = meter.pace.row
        let cost = { Self.backendShare(of: Int($0 / row), piece.payer) }
        let most = piece.cost + 10
        guard cost(end - start) > most else { return meter.passed(at: end) }
        let found = cost(meter.cost(from: start, to: end))
        guard found > most else { return }
        waiting.withLock { $0.jobs.charge(piece.payer, found - piece.cost) }
    }

    /// The waiting jobs that would have fitted into the same batch.
    @inlinable func rest(of jobs: [Work.Job]) -> [Work.Job] {
        var weight = jobs.reduce(0) { $0 + Work.weight(of: $1) }
        var rest: [Work.Job] = []
        while weight < Self.batchLimit, let piece = takeNext() {
            rest.append(piece.element)
            weight += Work.weight(of: piece.element)
        }
        return rest
    }

    /// The most batches between two pieces of idle work.
    @inlinable static var tidyInterval: Int { 32 }

    @usableFromInline func tidy() {
        guard let work, work.isTidyingDue, isWritable else { return }
        // After a failure the work is still due; it is done when the file is writable again.
        try? transaction { () throws(CacheError) in try work.tidy() }
    }

    @usableFromInline func transaction(_ body: () throws(CacheError) -> Void) throws(CacheError) {
        let before = connection.totalChanges
        let isOnOneCore = meter.pace.isOnOneCore
        let (began, waits) = (ContinuousClock.now, isOnOneCore ? ThreadUsage.waits() : 0)
        // Of all that may wait for a disk: a checkpoint, pages that are read, the flush.
        defer {
            if isOnOneCore {
                let now = ContinuousClock.now
                // The kernel is asked again only where the answer matters.
                if now - began > meter.pace.prompt, ThreadUsage.waits() != waits {
                    waiting.withLock { $0.caller.waited(now - began, at: now) }
                }
            }
        }
        do throws(CacheError) {
            try checkpoints.whileLogIsFree { () throws(CacheError) in
                try store.place.commit(by: connection) { () throws(CacheError) in
                    try transactions.perform(body)
                }
            }
        } catch {
            figuresBox.withLock { $0.rollbacks += 1 }
            if error.isOfTheDisk { found(error) }
            throw error
        }
        let rows = connection.totalChanges - before
        guard rows > 0 else { return }
        figuresBox.withLock {
            $0.commits += 1
            $0.rows += rows
        }
        // On one core this is the thread that the mark would spare.
        if !isOnOneCore { marker.mark() }
        found(nil)
        // What it does not bring over now, because somebody reads it, the next one will.
        if pages.isDue(connection) { checkpoints.ask() }
    }

    /// Looks every second whether the file is there and as it was left, also while nobody writes.
    /// What the witness of the list says is on the disk then, too.
    private func look() {
        guard work != nil else { return }
        if isWritable {
            do throws(CacheError) { try store.place.check() } catch { found(error) }
        }
        checkpoints.also { [store] in store.witness.flush() }
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.look() }
    }

    private func found(_ failure: CacheError?) {
        let isWritable = failure == nil
        if writable.exchange(isWritable, ordering: .relaxed) != isWritable {
            onWritable(failure)
        }
        if !isWritable, !retryIsDue {
            retryIsDue = true
            queue.asyncAfter(deadline: .now() + .seconds(1)) { self.retry() }
        }
    }

    /// Probes the file: a gateway that is not ready gets no traffic, and without traffic it would
    /// never learn that it can write again.
    private func retry() {
        retryIsDue = false
        guard let work, !isWritable else { return }
        do throws(CacheError) {
            try transaction { () throws(CacheError) in try work.probe() }
        } catch {
            // `found` has scheduled the next probe in a second.
            return
        }
        goOn()
    }
}
