import SQLite

/// Deletes the rows of removed conversations in small pieces. Removing a conversation of any size
/// is one short transaction, and its rows are purged when the writer is idle.
package final class Purge {
    /// The messages or participants of one piece: some milliseconds of work, the longest that a
    /// purge can delay a job.
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
    private let deletePlaces: [PlacePurge]
    private let finish: Statement
    private let forgotten: Statement
    private let deleteConversation: Statement
    private let raiseFloor: Statement
    private let uncount: Statement
    private let members: MemberPurge
    private let reactions: ReactionWrites
    private let connection: Connection

    package init(_ connection: Connection) throws(CacheError) {
        self.connection = connection
        members = try MemberPurge(connection)
        reactions = try ReactionWrites(connection)
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
        deletePlaces = [
            try PlacePurge(connection, "place_by_id", "id"),
            try PlacePurge(connection, "place_by_rev", "rev"),
            try PlacePurge(connection, "reaction", "seq, user, key"),
            try PlacePurge(connection, "mention", "user, seq"),
        ]
        finish = try connection.prepare("UPDATE conversation SET removed = 2 WHERE cid = ?")
        forgotten = try connection.prepare(
            """
            SELECT cid, touched, updated_at < (unixepoch() - 86400) * 1000 FROM conversation
            WHERE removed = 2 AND removed > 0 ORDER BY touched DESC LIMIT 1 OFFSET ?
            """)
        deleteConversation = try connection.prepare("DELETE FROM conversation WHERE cid = ?")
        raiseFloor = try connection.prepare("UPDATE state SET floor = max(floor, ?)")
        uncount = try connection.prepare("UPDATE state SET messages = messages - ?")
    }

    /// Does one piece; false if there was nothing left to do.
    /// - Throws: `CacheError`, if the file can't be written.
    package func step() throws(CacheError) -> Bool {
        if try members.removeSome() { return true }
        if try reactions.purge() { return true }
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
        for places in deletePlaces where try places.delete(cid) { return true }
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
        guard try members.forget(found.cid) else { return true }
        try run(deleteConversation, found.cid)
        return true
    }

    private func run(_ statement: borrowing Statement, _ cid: Int) throws(CacheError) {
        statement.bind(1, cid)
        try statement.run()
    }
}

/// Purges a table beside the messages of removed conversations, in pieces as well.
private final class PlacePurge {
    private let delete: Statement
    private let connection: Connection

    init(_ connection: Connection, _ table: String, _ key: String) throws(CacheError) {
        self.connection = connection
        delete = try connection.prepare(
            """
            DELETE FROM \(table) WHERE cid = ?1 AND (\(key)) IN (
                SELECT \(key) FROM \(table) WHERE cid = ?1 LIMIT \(Purge.chunk))
            """)
    }

    /// Deletes a piece of the rows.
    /// - Returns: whether there was one.
    /// - Throws: `CacheError`, if the file can't be written.
    func delete(_ cid: Int) throws(CacheError) -> Bool {
        delete.bind(1, cid)
        try delete.run()
        return connection.changes > 0
    }
}

/// Purges the participants of removed conversations, in pieces as well.
private final class MemberPurge {
    private let crowded: Statement
    private let leave: Statement
    private let left: Statement
    private let forget: Statement
    private let connection: Connection

    init(_ connection: Connection) throws(CacheError) {
        self.connection = connection
        crowded = try connection.prepare(
            """
            SELECT cid, touched FROM conversation WHERE removed = 3 AND removed > 0
            ORDER BY touched LIMIT 1
            """)
        leave = try connection.prepare(
            """
            UPDATE member SET member = 0, admin = 0, touched = ?2 WHERE cid = ?1 AND user IN (
                SELECT user FROM member WHERE cid = ?1 AND member = 1 LIMIT \(Purge.chunk))
            """)
        left = try connection.prepare("UPDATE conversation SET removed = 1 WHERE cid = ?")
        forget = try connection.prepare(
            """
            DELETE FROM member WHERE cid = ?1 AND user IN (
                SELECT user FROM member WHERE cid = ?1 LIMIT \(Purge.chunk))
            """)
    }

    /// Does one piece of what a large removed conversation left: its participants take part no
    /// more.
    /// - Returns: false if there was nothing left to do.
    /// - Throws: `CacheError`, if the file can't be written.
    func removeSome() throws(CacheError) -> Bool {
        let found = try crowded.first { (cid: $0.int(0), touched: $0.int(1)) }
        guard let (cid, touched) = found else { return false }
        leave.bind(1, cid)
        leave.bind(2, touched)
        try leave.run()
        if connection.changes < Purge.chunk {
            left.bind(1, cid)
            try left.run()
        }
        return true
    }

    /// Deletes a piece of the rows.
    /// - Returns: whether these were all of them.
    /// - Throws: `CacheError`, if the file can't be written.
    func forget(_ cid: Int) throws(CacheError) -> Bool {
        forget.bind(1, cid)
        try forget.run()
        return connection.changes < Purge.chunk
    }
}
