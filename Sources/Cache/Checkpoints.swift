import Dispatch
import Synchronization

/// Brings what the write-ahead log holds into the database file, on a queue of its own, so that
/// the thread that writes does not wait for the disk. Owned by the `Mirror`; any thread may ask.
///
/// A checkpoint takes what was committed when it began, and the log begins anew only when all of it
/// was taken: under writes without a pause it would grow for ever. So above a limit the last pages
/// are taken with the writer locked out, for as long as a few pages take.
final class Checkpoints: Sendable {
    /// After how many pages a checkpoint is due; SQLite's own measure.
    static let interval = 1_000

    /// How many pages the log may have before the writer is locked out for a moment: 64 MiB, to
    /// which its file is cut back.
    static let logLimit = 16_384

    private let store: Store
    private let queue = DispatchQueue(label: "gapless.checkpoints")
    private let isAsked = Atomic<Bool>(false)

    init(_ store: Store) { self.store = store }

    /// A checkpoint is due; returns at once.
    func ask() {
        guard !isAsked.exchange(true, ordering: .relaxed) else { return }
        queue.async { [self] in
            isAsked.store(false, ordering: .relaxed)
            // A disk that fails here fails the commits too, and there it is reported. What was not
            // brought over now will be by the next one.
            try? checkpoint()
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
        if pages > Self.logLimit { _ = try connection.integer("PRAGMA wal_checkpoint(RESTART)") }
    }
}
