import CWALFile
import SQLite

/// How the cache reaches its file: what a transaction adds to the write-ahead log is written in one
/// call.
extension Connection {
    /// Opens a cache's file; with `.readWrite` it is made if it is not there.
    /// - Throws: `CacheError`, as `init(path:access:)` does.
    package convenience init(cache path: String, access: Access) throws(CacheError) {
        try self.init(path: path, access: access, by: gapless_walfile_vfs())
    }

    /// Calls by which this connection has written to the write-ahead log, and how many SQLite by
    /// itself would have made for the same.
    package var logWrites: (calls: Int, asked: Int) {
        var (calls, asked): (Int64, Int64) = (0, 0)
        gapless_walfile_counts(handle, &calls, &asked)
        return (Int(calls), Int(asked))
    }
}
