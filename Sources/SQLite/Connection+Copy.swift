#if canImport(SQLite3)
import SQLite3
#else
import CSQLite
#endif

/// Copies a file while others write to it.
extension Connection {
    /// Copies the whole file as this connection's transaction sees it, by SQLite's online backup.
    /// - Parameters:
    ///   - path: The other connection's file, for errors.
    ///   - step: The pages copied at a time.
    ///   - progress: Gets the number of pages copied so far, and the total.
    /// - Throws: `CacheError` with SQLite's failure, of either file.
    package func copy(
        to other: Connection, path: String, step: Int32,
        _ progress: (_ copied: Int, _ all: Int) -> Void
    ) throws(CacheError) {
        guard let backup = sqlite3_backup_init(other.handle, "main", handle, "main") else {
            throw CacheError(
                doing: "write backup", on: path, result: sqlite3_extended_errcode(other.handle))
        }
        var result = SQLITE_OK
        while result == SQLITE_OK {
            result = sqlite3_backup_step(backup, step)
            let all = Int(sqlite3_backup_pagecount(backup))
            progress(all - Int(sqlite3_backup_remaining(backup)), all)
        }
        let end = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE, end == SQLITE_OK else {
            throw CacheError(
                doing: "write backup", on: path, result: end == SQLITE_OK ? result : end)
        }
    }
}
