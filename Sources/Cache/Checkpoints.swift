import Dispatch
import SQLite
import Synchronization

/// Brings what the write-ahead log holds into the database file, on a queue of its own, so that the
/// thread that writes does not wait for the disk. Owned by the `ReplicaCache`, which writes within
/// `whileLogIsFree`; any thread may ask.
///
/// The log begins anew only when a write finds all of it brought over: under writes without a pause
/// it would grow for ever. So above a limit the last of it is brought over while writes wait. They
/// wait for a lock of ours: for SQLite's a checkpoint would have to try again and again, and a busy
/// writer does not let it in for seconds.
final class Checkpoints: Sendable {
    /// After how many pages a checkpoint is due; SQLite's own measure.
    static let interval = 1_000

    /// How many pages the log may have before writes wait for a checkpoint: 32 MiB, which a start
    /// after a crash reads in some 50 ms.
    static let logLimit = 8_192

    private let store: Store
    private let queue = DispatchQueue(label: "gapless.checkpoints")
    private let isAsked = Atomic<Bool>(false)
    private let log = Mutex<Void>(())
    private let lastFailure = Mutex<CacheError?>(nil)

    init(_ store: Store) { self.store = store }

    /// Writes while no checkpoint needs the log to stand still.
    func whileLogIsFree<Failure: Error>(_ write: () throws(Failure) -> Void) throws(Failure) {
        try log.withLock { _ throws(Failure) in try write() }
    }

    /// Why the last one could not bring over what the log holds; nil if it could. A commit that is
    /// not brought to the disk does not notice that the disk fails: without this the log would grow
    /// in silence until there is no room for it.
    var failure: CacheError? { lastFailure.withLock { $0 } }

    /// A checkpoint is due; returns at once.
    func ask() {
        guard !isAsked.exchange(true, ordering: .relaxed) else { return }
        queue.async { [self] in
            isAsked.store(false, ordering: .relaxed)
            // What was not brought over now will be by the next one.
            do throws(CacheError) {
                try checkpoint()
                lastFailure.withLock { $0 = nil }
            } catch {
                lastFailure.withLock { $0 = error }
            }
        }
    }

    /// Brings everything over and empties the log.
    func stop() {
        queue.sync {
            _ = try? store.writingConnection().integer("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }

    /// On the queue. A connection of its own for each: they are rare, and so none is shared.
    private func checkpoint() throws(CacheError) {
        let connection = try store.writingConnection()
        let passive = try connection.prepare("PRAGMA wal_checkpoint(PASSIVE)")
        let pages = try passive.first { $0.int(1) } ?? 0
        guard pages > Self.logLimit else { return }
        // Only what was written during the first one is left.
        try whileLogIsFree { () throws(CacheError) in try passive.run() }
    }
}
