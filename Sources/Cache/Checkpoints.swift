import Dispatch
import SQLite
import Synchronization

/// Counts the pages that a connection has written since the last checkpoint was due.
struct PagesSinceCheckpoint {
    /// The pages after which a checkpoint is due; SQLite's own default.
    private static let limit = 1_000

    private var count = 0

    /// Takes the pages written since the last call.
    /// - Returns: whether a checkpoint is due; counting starts again then.
    mutating func isDue(_ connection: Connection) -> Bool {
        count += connection.takePagesWritten()
        guard count >= Self.limit else { return false }
        count = 0
        return true
    }
}

/// Checkpoints the write-ahead log into the database file, on a queue of its own, so that the
/// thread that writes does not wait for the disk. Owned by the `ReplicaCache` or a `Writer`, which
/// write within `whileLogIsFree`; any thread may ask for a checkpoint.
///
/// The log restarts only if a write finds all of it checkpointed: under writes without a pause it
/// would grow for ever. So above a limit its last part is checkpointed while writes wait. They wait
/// for a lock of ours: with SQLite's own, a checkpoint would have to retry, and a busy writer can
/// keep it out for seconds.
final class Checkpoints: Sendable {
    /// The pages of the log above which writes wait for a checkpoint: 32 MiB, which a start after a
    /// crash reads in some 50 ms.
    static let logLimit = 8_192

    private let place: FilePlace
    private let waits: DiskWaits
    private let queue = DispatchQueue(label: "gapless.checkpoints")
    private let isAsked = Atomic<Bool>(false)
    private let log = Mutex<Void>(())
    private let lastFailure = Mutex<CacheError?>(nil)
    /// The one that can checkpoint the log. Used on the queue.
    private let connection: Mutex<Connection>

    /// - Throws: `CacheError`, if the file can't be opened, or another program is checkpointing it.
    init(_ store: Store) throws(CacheError) {
        place = store.place
        waits = store.waits
        let connection = try store.writingConnection()
        try connection.keep(.checkpoint, within: FilePlace.patience)
        connection.leaveLogWhenClosed()
        self.connection = Mutex(connection)
    }

    /// Writes while no checkpoint needs the log to stand still.
    func whileLogIsFree<Failure: Error>(_ write: () throws(Failure) -> Void) throws(Failure) {
        try waits.during(.commit) { () throws(Failure) in
            try log.withLock { _ throws(Failure) in try write() }
        }
    }

    /// Why the last checkpoint failed; nil if it succeeded. A commit that is not flushed does not
    /// notice that the disk fails: without this the log would grow unnoticed until the disk is
    /// full.
    var failure: CacheError? { lastFailure.withLock { $0 } }

    /// Requests a checkpoint; returns at once.
    func ask() {
        guard !isAsked.exchange(true, ordering: .relaxed) else { return }
        queue.async { [self] in
            isAsked.store(false, ordering: .relaxed)
            // The next checkpoint takes over whatever this one leaves.
            do throws(CacheError) {
                try waits.during(.checkpoint) { () throws(CacheError) in try checkpoint() }
                lastFailure.withLock { $0 = nil }
            } catch {
                lastFailure.withLock { $0 = error }
            }
        }
    }

    /// Does something else for the file that may wait for the disk; returns at once.
    func also(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    /// Checkpoints everything, cuts the log, and lets others do it.
    func stop() {
        queue.sync {
            connection.withLock { connection in
                if place.canCheckpoint {
                    place.changing {
                        _ = try? connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
                    }
                }
                connection.releaseLock()
            }
        }
    }

    /// On the queue.
    private func checkpoint() throws(CacheError) {
        try connection.withLock { connection throws(CacheError) in
            let passive = try connection.prepare("PRAGMA wal_checkpoint(PASSIVE)")
            // Not beside a commit, which changes what the log should be.
            try log.withLock { _ throws(CacheError) in try checkLog() }
            var pages = 0
            try place.changing { () throws(CacheError) in
                pages = try passive.first { $0.int(1) } ?? 0
            }
            guard pages > Self.logLimit else { return }
            // Only what was written during the first checkpoint is left.
            try log.withLock { _ throws(CacheError) in
                try checkLog()
                try place.changing { () throws(CacheError) in try passive.run() }
            }
        }
    }

    /// What was cut off from the log, or is another's, SQLite would bring over as zeros.
    private func checkLog() throws(CacheError) {
        guard place.canCheckpoint else { return try place.check() }
    }
}
