import SQLite

/// Finds the messages that changed after a rev, in the order of their changes, through the
/// statements of one connection. Every message of a tail changed after all others, and they in the
/// order of their places.
final class ChangeRows {
    private let newest: Statement
    private let oldest: Statement
    private let newestOfTail: Statement
    private let oldestOfTail: Statement

    init(_ connection: Connection) throws(CacheError) {
        // Both indexes hold all that is asked for, and SQLite merges them as it goes.
        let folded = """
            SELECT seq, rev FROM message INDEXED BY message_rev
            WHERE cid = ?1 AND rev > ?2 AND touched IS NULL
            UNION ALL SELECT seq, rev FROM place_by_rev WHERE cid = ?1 AND rev > ?2
            """
        newest = try connection.prepare("\(folded) ORDER BY rev DESC LIMIT ?3")
        oldest = try connection.prepare("\(folded) ORDER BY rev LIMIT ?3")
        let tail = """
            SELECT seq FROM message
            WHERE cid = ?1 AND seq > (SELECT above FROM tail WHERE cid = ?1) AND rev > ?2
            """
        newestOfTail = try connection.prepare("\(tail) ORDER BY seq DESC LIMIT ?3")
        oldestOfTail = try connection.prepare("\(tail) ORDER BY seq LIMIT ?3")
    }

    /// The seqs of at most `limit` messages that changed after `rev`, newest change first.
    /// - Throws: `CacheError`, if the file can't be read.
    func newest(_ cid: Int, since rev: Int, limit: Int) throws(CacheError) -> [Int] {
        let places = try Self.places(newestOfTail, cid, rev, limit)
        guard places.count < limit else { return places }
        return try places + Self.places(newest, cid, rev, limit - places.count)
    }

    /// The seqs of at most `limit` messages that changed after `rev`, oldest change first.
    /// - Throws: `CacheError`, if the file can't be read.
    func oldest(_ cid: Int, since rev: Int, limit: Int) throws(CacheError) -> [Int] {
        let places = try Self.places(oldest, cid, rev, limit)
        guard places.count < limit else { return places }
        return try places + Self.places(oldestOfTail, cid, rev, limit - places.count)
    }

    private static func places(
        _ statement: borrowing Statement, _ cid: Int, _ rev: Int, _ limit: Int
    ) throws(CacheError) -> [Int] {
        statement.bind(1, cid)
        statement.bind(2, rev)
        statement.bind(3, limit)
        return try statement.all { $0.int(0) }
    }
}
