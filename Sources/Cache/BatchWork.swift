import Ports
import SQLite

/// Performs a `Writer`'s jobs. It lives on the writer's queue alone.
@usableFromInline package protocol BatchWork: AnyObject, SendableMetatype {
    associatedtype Job: Sendable

    /// The estimated number of rows that the job writes.
    static func weight(of job: Job) -> Int

    /// The estimated bytes of its values.
    static func bytes(of job: Job) -> Int

    /// Whether the job takes little time whatever is in the file: the thread that submits it may do
    /// it.
    static func isBrief(_ job: Job) -> Bool

    /// The user who pays for the job: users take turns.
    static func payer(of job: Job) -> Payer

    /// Writes, in a transaction of its own before all jobs, what the file needs to go on.
    /// `committed` follows, with no jobs.
    /// - Throws: `CacheError`, if the file can't be written.
    func open() throws(CacheError)

    /// Does the job inside the transaction of its batch. A job that the rules of the log refuse
    /// writes nothing and returns; other jobs of the batch are not affected.
    /// - Throws: `CacheError`, if the file can't be written: the whole batch is rolled back.
    func write(_ job: Job) throws(CacheError)

    /// Writes, in the same transaction, what the batch's jobs have deferred to its end.
    /// - Throws: `CacheError`, if the file can't be written: the whole batch is rolled back.
    func settle() throws(CacheError)

    /// The batch is committed.
    func committed(_ jobs: [Job])

    /// The batch was rolled back: nothing of it is in the file.
    func rolledBack(_ jobs: [Job], because error: CacheError)

    /// Whether idle work is left.
    var isTidyingDue: Bool { get }

    /// Does a small piece of that work, in a transaction of its own, when there are no jobs.
    /// - Throws: `CacheError`, if the file can't be written.
    func tidy() throws(CacheError)

    /// Makes any write at all, to learn whether the file is writable again.
    /// - Throws: `CacheError`, if it is not.
    func probe() throws(CacheError)
}

extension BatchWork {
    package static func payer(of job: Job) -> Payer { .gateway }

    package static func isBrief(_ job: Job) -> Bool { false }

    /// By default a job's values are small.
    package static func bytes(of job: Job) -> Int { 0 }

    /// By default a file goes on as it is.
    package func open() throws(CacheError) {}

    /// By default jobs defer nothing.
    package func settle() throws(CacheError) {}
}
