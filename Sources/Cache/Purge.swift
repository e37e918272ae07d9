import SQLite

/// Deletes the rows of removed conversations in small pieces. Removing a conversation of any size
/// is one short transaction, and its rows are purged when the writer is idle.
package final class Purge {
    /// The messages deleted in one piece: some milliseconds of work, the longest that a purge can
    /// delay a job.
    package static let chunk = 500

    /// How many removed conversations are remembered at least, and all those removed within a day,
    /// so that lists that were read before can report them. A client with an older list reads it
    /// anew.
    package static let removedLimit = 10_000

    private let next: Statement
    private let lowest: Statement
    private let deleteMessages: Statement
    private let deleteMarks: Statement
    private let deleteCoverage: Statement
    private let finish: Statement
    private let forgotten: Statement
    private let deleteMembers: Statement
    private let deleteConversation: Statement
    private let raiseFloor: Statement
    private let uncount: Statement
    private let connection: Connection

    package init(_ connection: Connection) throws(CacheError) {
        self.connection = connection
        // The index has only removed conversations, and SQLite uses it only if the query says so
        // too.
        next = try connection.prepare(
            """
            SELECT cid FROM conversation WHERE removed = 1 AND removed > 0
            ORDER BY touched LIMIT 1
            """)
        lowest = try connection.prepare(
            "SELECT seq FROM message WHERE cid = ? ORDER BY seq LIMIT 1")
        deleteMessages = try connection.prepare("DELETE FROM message WHERE cid = ? AND seq < ?")
        deleteMarks = try connection.prepare("DELETE FROM incarnation WHERE cid = ?")
        deleteCoverage = try connection.prepare("DELETE FROM coverage WHERE cid = ?")
        finish = try connection.prepare("UPDATE conversation SET removed = 2 WHERE cid = ?")
        forgotten = try connection.prepare(
            """
            SELECT cid, touched, updated_at < (unixepoch() - 86400) * 1000 FROM conversation
            WHERE removed = 2 AND removed > 0 ORDER BY touched DESC LIMIT 1 OFFSET ?
            """)
        deleteMembers = try connection.prepare("DELETE FROM member WHERE cid = ?")
        deleteConversation = try connection.prepare("DELETE FROM conversation WHERE cid = ?")
        raiseFloor = try connection.prepare("UPDATE state SET floor = max(floor, ?)")
        uncount = try connection.prepare("UPDATE state SET messages = messages - ?")
    }

    /// Does one piece; false if there was nothing left to do.
    /// - Throws: `CacheError`, if the file can't be written.
    package func step() throws(CacheError) -> Bool {
        guard let cid = try next.first({ $0.int(0) }) else { return try forget() }
        lowest.bind(1, cid)
        if let first = try lowest.first({ $0.int(0) }) {
            deleteMessages.bind(1, cid)
            deleteMessages.bind(2, first + Self.chunk)
            try deleteMessages.run()
            uncount.bind(1, connection.changes)
            try uncount.run()
            return true
        }
        try run(deleteMarks, cid)
        try run(deleteCoverage, cid)
        try run(finish, cid)
        return true
    }

    /// Forgets the oldest removed conversation beyond the limit.
    private func forget() throws(CacheError) -> Bool {
        forgotten.bind(1, Self.removedLimit)
        let found = try forgotten.first {
            (cid: $0.int(0), touched: $0.int(1), isOld: $0.bool(2))
        }
        guard let found, found.isOld else { return false }
        raiseFloor.bind(1, found.touched)
        try raiseFloor.run()
        try run(deleteMembers, found.cid)
        try run(deleteConversation, found.cid)
        return true
    }

    private func run(_ statement: borrowing Statement, _ cid: Int) throws(CacheError) {
        statement.bind(1, cid)
        try statement.run()
    }
}
