#if !canImport(SQLite3)
import CSQLite

/// What SQLite does for the whole process.
package enum SQLiteLibrary {
    /// Has it keep no statistics of its memory, which nobody reads here: for them, each of its
    /// allocations takes one lock of the whole process twice, and a message needs some forty. To
    /// be called by a program that owns its process, before the first connection is opened; later
    /// it does nothing.
    package static func keepNoMemoryStatistics() {
        _ = gapless_sqlite_keep_memory_statistics(0)
    }
}
#endif
