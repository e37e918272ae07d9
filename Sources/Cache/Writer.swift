import Dispatch
import Ports
import SQLite
import Synchronization

/// What a `Writer` runs its jobs with. It lives on the writer's queue alone.
package protocol BatchWork: AnyObject, SendableMetatype {
    associatedtype Job: Sendable

    /// How many rows the job writes, about.
    static func weight(of job: Job) -> Int

    /// Whom the job is for: users take turns.
    static func payer(of job: Job) -> Payer

    /// Does the job inside the transaction of its batch. A job that is refused by the rules of the
    /// log writes nothing and returns: its neighbours are not disturbed.
    /// - Throws: `CacheError`, if the file can't be written: the whole batch is rolled back.
    func write(_ job: Job) throws(CacheError)

    /// Writes, in the same transaction, what its jobs have left to the end of it.
    /// - Throws: `CacheError`, if the file can't be written: the whole batch is rolled back.
    func settle() throws(CacheError)

    /// The batch is in the file.
    func committed(_ jobs: [Job])

    /// Nothing of the batch is in the file.
    func rolledBack(_ jobs: [Job], because error: CacheError)

    /// Whether there is work left that nobody waits for.
    var isTidyingDue: Bool { get }

    /// Does a small piece of that work, in a transaction of its own, when there are no jobs.
    /// - Throws: `CacheError`, if the file can't be written.
    func tidy() throws(CacheError)

    /// Writes anything at all, to learn whether the file can be written again.
    /// - Throws: `CacheError`, if not.
    func probe() throws(CacheError)
}

extension BatchWork {
    package static func payer(of job: Job) -> Payer { .gateway }

    /// Each job has written all that is its own.
    package func settle() throws(CacheError) {}
}

/// Whether jobs were taken; one that was not will not be done.
package enum Submission: Sendable, Hashable {
    case taken
    /// All were taken but those in these places.
    case full(refused: [Int])
    case stopped
}

/// What a writer has done since it began.
package struct WriterFigures: Sendable, Hashable {
    package var commits = 0
    package var rows = 0
    package var rollbacks = 0
}

/// How the users of a writer take turns.
package struct WriterPace: Sendable {
    /// How long a batch goes on with further jobs: whoever comes meanwhile waits for that, the
    /// commit, and then a turn of each other user.
    package var slice = Duration.milliseconds(5)
    /// What a row takes: a job that takes longer than it weighs costs its user more.
    package var row = Duration.microseconds(30)

    package init() {}
}

/// The one writer of a database file. Jobs come from any thread and wait in a bounded queue, where
/// users take turns; the writer runs those that wait in one transaction, for as long as a slice
/// lasts, and says so after the commit: the busier it is, the more jobs share the price of a
/// commit. The jobs of a user are done in their order. A failure of the disk fails the batch, makes
/// `isWritable` false, and is looked into every second until a write succeeds.
// Safety: `work`, `connection`, its statements and `retryIsDue` are touched on `queue` alone, which
// is serial and so this type's own thread; the rest is a mutex, an atomic or never changes.
package final class Writer<Work: BatchWork>: @unchecked Sendable {
    /// How many jobs may wait, and of one user as many as there is room for besides. At some 30 µs
    /// a job it is a third of a second of work; one who asks for more gets a refusal instead of a
    /// wait.
    package static var queueLimit: Int { 10_000 }

    /// How many rows a batch may take before it is committed, so that the first job in it does not
    /// wait for long and a failure does not undo much.
    package static var batchLimit: Int { 2_000 }

    private struct Waiting {
        var jobs = FairQueue<Work.Job>()
        /// Whether a turn is queued that will look at `jobs`.
        var isScheduled = false
        var isStopped = false
    }

    private let queue = DispatchQueue(label: "gapless.writer", qos: .userInitiated)
    private let waiting = Mutex(Waiting())
    private let figuresBox = Mutex(WriterFigures())
    private let writable = Atomic<Bool>(true)
    private let onWritable: @Sendable (CacheError?) -> Void
    private let pace: WriterPace
    private let place: FilePlace?
    private let connection: Connection
    private let begin: Statement
    private let commit: Statement
    private let rollback: Statement
    private var work: Work?
    private var retryIsDue = false

    /// A writer with a connection of its own.
    /// - Parameters:
    ///   - pace: how users take turns.
    ///   - onWritable: called on the writer's queue when `isWritable` changes, with what failed;
    ///     with nil when the file can be written again.
    ///   - makeWork: makes what runs the jobs, with the connection that it is to use.
    /// - Throws: `CacheError`, if the file can't be opened.
    package init(
        _ store: Store, pace: WriterPace = WriterPace(),
        onWritable: @escaping @Sendable (CacheError?) -> Void,
        makeWork: (Connection) throws(CacheError) -> Work
    ) throws(CacheError) {
        connection = try store.writingConnection()
        begin = try connection.prepare("BEGIN")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        self.onWritable = onWritable
        self.pace = pace
        place = store.place
        work = try makeWork(connection)
    }

    /// Whether the last write succeeded.
    package var isWritable: Bool { writable.load(ordering: .relaxed) }

    package var figures: WriterFigures { figuresBox.withLock { $0 } }

    /// Begins with what was left to tidy up.
    package func start() {
        let isDue = waiting.withLock { waiting in
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled && !waiting.isStopped
        }
        if isDue { queue.async { self.turn() } }
    }

    /// Hands over jobs; from any thread, without waiting. What there is to write at one moment
    /// belongs into one call: the writer begins with the first, and where it shares a core with
    /// the caller it has committed that before the caller can name a second.
    package func submit(_ jobs: [Work.Job]) -> Submission {
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
        if isDue { queue.async { self.turn() } }
        return submission
    }

    /// What it counts where users take turns. The backend writes for many of them.
    private static func cost(of job: Work.Job, _ payer: Payer) -> Int {
        backendShare(of: Work.weight(of: job), payer)
    }

    private static func backendShare(of weight: Int, _ payer: Payer) -> Int {
        max(1, payer == .gateway ? weight / backendUsers : weight)
    }

    private static var backendUsers: Int { 100 }

    /// Does what waits, lets go of the work and returns. Not to be called on the writer's queue.
    package func stop() {
        dispatchPrecondition(condition: .notOnQueue(queue))
        waiting.withLock { $0.isStopped = true }
        queue.sync {
            while let first = takeNext() { run(first) }
            work = nil
            // So that the file alone, without the log beside it, is whole: people copy it.
            try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }

    // MARK: on the queue

    private func turn() {
        if let first = takeNext() { run(first) } else { tidy() }
        let isWorkLeft = work?.isTidyingDue == true && isWritable
        let isDone = waiting.withLock { waiting in
            waiting.isScheduled = isWorkLeft || !waiting.jobs.isEmpty
            return !waiting.isScheduled
        }
        if !isDone { queue.async { self.turn() } }
    }

    /// The job whose turn it is.
    private func takeNext() -> FairQueue<Work.Job>.Piece? {
        waiting.withLock { $0.jobs.popFirst() }
    }

    /// Runs a batch that begins with this job: as many as wait, and a slice has time for.
    private func run(_ first: FairQueue<Work.Job>.Piece) {
        guard let work else { return }
        var jobs = [first.element]
        do throws(CacheError) {
            try transaction { () throws(CacheError) in
                var piece = first
                var weight = 0
                let began = ContinuousClock.now
                var start = began
                while true {
                    try work.write(piece.element)
                    weight += Work.weight(of: piece.element)
                    let end = ContinuousClock.now
                    charge(piece, end - start)
                    guard weight < Self.batchLimit, end - began < pace.slice, let next = takeNext()
                    else {
                        break
                    }
                    jobs.append(next.element)
                    (piece, start) = (next, end)
                }
                try work.settle()
            }
        } catch {
            // What else a batch would have taken meets the same disk.
            if error.isOfTheDisk { jobs += rest(of: jobs) }
            return work.rolledBack(jobs, because: error)
        }
        work.committed(jobs)
    }

    /// What took longer than it weighs has its user wait longer for the next turn.
    private func charge(_ piece: FairQueue<Work.Job>.Piece, _ time: Duration) {
        let cost = Self.backendShare(of: Int(time / pace.row), piece.payer)
        guard cost > piece.cost + 10 else { return }
        waiting.withLock { $0.jobs.charge(piece.payer, cost - piece.cost) }
    }

    /// As many of the waiting jobs as one batch may have beside these.
    private func rest(of jobs: [Work.Job]) -> [Work.Job] {
        var weight = jobs.reduce(0) { $0 + Work.weight(of: $1) }
        var rest: [Work.Job] = []
        while weight < Self.batchLimit, let piece = takeNext() {
            rest.append(piece.element)
            weight += Work.weight(of: piece.element)
        }
        return rest
    }

    private func tidy() {
        guard let work, work.isTidyingDue, isWritable else { return }
        // What failed is due still, and done when the file can be written again.
        try? transaction { () throws(CacheError) in try work.tidy() }
    }

    private func transaction(_ body: () throws(CacheError) -> Void) throws(CacheError) {
        let before = connection.totalChanges
        do throws(CacheError) {
            try place?.check()
            try begin.run()
            try body()
            try commit.run()
        } catch {
            // SQLite has ended the transaction by itself after some failures.
            if connection.isInTransaction { try? rollback.run() }
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
        found(nil)
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

    /// Without this a gateway that is not ready gets no traffic, and without traffic it would never
    /// learn that it can write again.
    private func retry() {
        retryIsDue = false
        guard let work, !isWritable else { return }
        do throws(CacheError) {
            try transaction { () throws(CacheError) in try work.probe() }
        } catch {
            // Looked into again in a second: `found` has seen to that.
            return
        }
        start()
    }
}
