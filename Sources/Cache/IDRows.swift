import SQLite

/// Looks where in a log an id is taken, one tree at a time, through the statements of one
/// connection. Ids in a tail are in `message` alone.
package final class IDRows {
    private let folded: Statement
    private let old: Statement
    private let anyOld: Statement

    init(_ connection: Connection) throws(CacheError) {
        folded = try connection.prepare("SELECT 1 FROM place_by_id WHERE cid = ? AND id = ?")
        let old = "SELECT 1 FROM message INDEXED BY message_id WHERE touched IS NULL"
        self.old = try connection.prepare("\(old) AND cid = ? AND id = ?")
        // With a range of the index's first column, so that SQLite takes it for a search.
        anyOld = try connection.prepare("\(old) AND cid > 0 LIMIT 1")
    }

    /// Whether a folded message has the id.
    /// - Throws: `CacheError`, if the file can't be read.
    package func isFolded(_ cid: Int, _ id: String) throws(CacheError) -> Bool {
        folded.bind(1, cid)
        var exists = false
        try folded.lending(2, id) { () throws(CacheError) in exists = try folded.exists() }
        return exists
    }

    /// Whether a message from before the eighth version of the file has the id.
    /// - Throws: `CacheError`, if the file can't be read.
    package func isOld(_ cid: Int, _ id: String) throws(CacheError) -> Bool {
        old.bind(1, cid)
        old.bind(2, id)
        return try old.exists()
    }

    /// Whether there is a message from before the eighth version of the file.
    /// - Throws: `CacheError`, if the file can't be read.
    package func isAnyOld() throws(CacheError) -> Bool { try anyOld.exists() }
}
