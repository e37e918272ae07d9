import SQLite

/// Reads the file once after each commit, on the thread that commits. The first reader of a commit
/// writes a mark into SQLite's index (-shm), which waits where the file system is frozen; the loop,
/// on which all sockets depend, finds that mark and only reads.
final class ReadMarker {
    private let connection: Connection
    private let read: Statement

    /// - Throws: `CacheError`, if the file can't be opened.
    init(_ store: Store) throws(CacheError) {
        connection = try store.readingConnection()
        read = try connection.prepare("SELECT 1 FROM state")
    }

    /// Marks what was committed as read.
    func mark() { _ = try? read.first { _ in true } }
}
