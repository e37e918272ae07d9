import CWALFile
import SQLite

/// Opens the cache's file through a VFS that writes each transaction to the write-ahead log in one
/// call.
extension Connection {
    /// Opens a cache's file; `.readWrite` creates it if it does not exist.
    /// - Throws: `CacheError`, as `init(path:access:)` does.
    package convenience init(cache path: String, access: Access) throws(CacheError) {
        try self.init(path: path, access: access, by: gapless_walfile_vfs())
    }

    /// The calls by which this connection has written to the write-ahead log, and the calls that
    /// SQLite asked for, which it would have made itself.
    package var logWrites: (calls: Int, asked: Int) {
        var (calls, asked): (Int64, Int64) = (0, 0)
        gapless_walfile_counts(handle, &calls, &asked)
        return (Int(calls), Int(asked))
    }
}
