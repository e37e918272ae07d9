#if !canImport(SQLite3)
import CSQLite
import Synchronization

/// The two locks of a database with a write-ahead log that change it. SQLite takes each for one
/// transaction or checkpoint, and any program may have it in between. A connection that keeps one
/// has it until it lets go of it: every other connection, in this process and in others, is refused
/// with "database is locked". Those that read need neither.
package enum ChangingLock: Int32, Sendable {
    /// To commit, and for what restarts or cuts the log.
    case write = 0
    /// To bring what is in the log into the file.
    case checkpoint = 1
}

/// What a commit leaves in the index of the write-ahead log (`-shm`), as far as it says whether
/// somebody else has committed since, and how the log has to be. SQLite's document "WAL-mode File
/// Format" has the places of these numbers.
package struct LogIndex: Sendable, Hashable {
    /// Counts the commits of all processes.
    package var changes: UInt32
    /// The frames of the log, a page each.
    package var frames: Int
    package var pageSize: Int
    /// Two numbers in the log's head and in each of its frames; others after each restart of it.
    package var salt: UInt64

    /// What the log's file has at least; 0 while nothing is in it.
    package var bytes: Int { frames == 0 ? 0 : Self.headBytes + frames * (24 + pageSize) }

    /// The head of the log, and the place of the salt in it.
    package static let headBytes = 32
    package static let saltPlace = 16
}

/// SQLite asks a file's methods for each lock. Those of a file whose lock is kept say that it is
/// had, and keep it when they are asked to let go of it; all else is SQLite's own.
extension Connection {
    /// Takes a lock and keeps it. A connection keeps one at most, and takes it outside of
    /// transactions.
    /// - Parameter patience: how long to wait for another connection that has it.
    /// - Throws: `CacheError` `inUse` if it has it for longer.
    package func keep(_ lock: ChangingLock, within patience: Duration) throws(CacheError) {
        // The index is there from the first reading on.
        _ = try integer("SELECT count(*) FROM sqlite_schema")
        guard let file, let own = file.pointee.pMethods, own.pointee.xShmLock != nil else {
            throw CacheError(doing: "lock cache", on: path, result: SQLITE_CANTOPEN)
        }
        let began = ContinuousClock.now
        while true {
            let result = own.pointee.xShmLock(
                file, lock.rawValue, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)
            if result == SQLITE_OK { break }
            guard result == SQLITE_BUSY, ContinuousClock.now - began < patience else {
                throw CacheError(doing: "lock cache", on: path, result: result)
            }
            sqlite3_sleep(10)
        }
        file.pointee.pMethods = KeepingMethods.shared.methods(keeping: lock, over: own)
        kept = lock
    }

    /// Lets go of the lock that the connection keeps.
    package func releaseLock() {
        guard let lock = kept, let file else { return }
        kept = nil
        let own = KeepingMethods.shared.own
        file.pointee.pMethods = own
        _ = own?.pointee.xShmLock(file, lock.rawValue, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE)
    }

    /// Has SQLite leave the log as it is when the connection is closed. It would bring over what is
    /// in it, also into a file that is no longer the log's.
    package func leaveLogWhenClosed() { _ = gapless_sqlite_leave_log_when_closed(handle) }

    /// The index as this connection's last transaction left it; nil before the first. It is exact
    /// while the connection keeps the lock to write.
    package var logIndex: LogIndex? {
        guard let file, let methods = file.pointee.pMethods, methods.pointee.xShmMap != nil else {
            return nil
        }
        var region: UnsafeMutableRawPointer?
        guard methods.pointee.xShmMap(file, 0, Self.regionBytes, 0, &region) == SQLITE_OK,
            let region
        else { return nil }
        let pageSize = Int(region.load(fromByteOffset: 14, as: UInt16.self))
        return LogIndex(
            changes: region.load(fromByteOffset: 8, as: UInt32.self),
            frames: Int(region.load(fromByteOffset: 16, as: UInt32.self)),
            pageSize: pageSize == 1 ? 65_536 : pageSize,
            salt: region.load(fromByteOffset: 32, as: UInt64.self))
    }

    /// SQLite maps the index in pieces of this size.
    private static let regionBytes: Int32 = 32_768

    private var file: UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        return file
    }
}

/// The methods of a file whose lock is kept, made of those that SQLite's files have.
// Safety: written once, by the first that keeps a lock; what the pointers lead to never changes
// after that and is never freed.
private final class KeepingMethods: @unchecked Sendable {
    static let shared = KeepingMethods()

    private let isMade = Mutex(false)
    private let write = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    private let checkpoint = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    private(set) var own: UnsafePointer<sqlite3_io_methods>?

    /// - Parameter own: SQLite's, which are the same for all its files on a disk.
    func methods(
        keeping lock: ChangingLock, over own: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafePointer<sqlite3_io_methods> {
        isMade.withLock { isMade in
            guard !isMade else { return }
            isMade = true
            self.own = own
            write.initialize(to: own.pointee)
            write.pointee.xShmLock = { file, first, count, flags in
                KeepingMethods.shared.lock(.write, file, first, count, flags)
            }
            checkpoint.initialize(to: own.pointee)
            checkpoint.pointee.xShmLock = { file, first, count, flags in
                KeepingMethods.shared.lock(.checkpoint, file, first, count, flags)
            }
        }
        return UnsafePointer(lock == .write ? write : checkpoint)
    }

    private func lock(
        _ kept: ChangingLock, _ file: UnsafeMutablePointer<sqlite3_file>?, _ first: Int32,
        _ count: Int32, _ flags: Int32
    ) -> Int32 {
        let isOfKept = first == kept.rawValue && count == 1 && flags & SQLITE_SHM_EXCLUSIVE != 0
        guard !isOfKept, let own else { return SQLITE_OK }
        return own.pointee.xShmLock(file, first, count, flags)
    }
}
#endif
