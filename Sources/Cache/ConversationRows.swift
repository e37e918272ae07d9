import Chat
import JSON
import SQLite
import Wire

/// Reads conversations and lists of them, through the statements of one connection.
package final class ConversationRows {
    private static let columns =
        "cid, id, epoch, seq, rev, mark, floor, record_rev, last_seq, activity,"
        + " touched, members, rest_up_to, above"

    private let byID: Statement
    private let byNumber: Statement
    private let record: Statement
    private let confirmed: Statement
    private let byPeople: Statement
    private let listed: Statement
    private let listedBehind: Statement
    private let total: Statement
    private let totalLeaving: Statement
    private let created: Statement
    private let changed: Statement
    private let gone: Statement
    private let state: Statement
    /// The mark of the log that was read last.
    private var lastMark = ""

    package init(_ connection: Connection) throws(CacheError) {
        let columns = Self.columns
        byID = try connection.prepare(
            "SELECT \(columns) FROM log WHERE id = ? AND removed = 0")
        byNumber = try connection.prepare("SELECT \(columns) FROM log WHERE cid = ?")
        record = try connection.prepare(
            """
            SELECT title, metadata, unknown, created_at, updated_at, created_by
            FROM conversation WHERE cid = ?
            """
        )
        confirmed = try connection.prepare(
            """
            SELECT mark FROM incarnation WHERE cid = ? AND from_rev <= ?
            ORDER BY from_rev DESC LIMIT 1
            """)
        byPeople = try connection.prepare(
            """
            SELECT cid FROM conversation WHERE people = ? AND removed = 0
            ORDER BY cid DESC LIMIT 1
            """)
        let ofUser = """
            SELECT c.cid, c.activity FROM member AS m CROSS JOIN log AS c ON c.cid = m.cid
            WHERE m.user = ?1 AND m.member = 1 AND c.removed = 0
            """
        // A large conversation that was removed keeps its participants for a while.
        let leaving = """
            FROM conversation AS c CROSS JOIN member AS m ON m.cid = c.cid AND m.user = ?1
            WHERE c.removed = 3 AND c.removed > 0 AND m.member = 1
            """
        let latestFirst = "ORDER BY c.activity DESC, c.cid DESC LIMIT ?"
        listed = try connection.prepare("\(ofUser) \(latestFirst)")
        listedBehind = try connection.prepare(
            "\(ofUser) AND (c.activity, c.cid) < (?, ?) \(latestFirst)")
        total = try connection.prepare("SELECT count(*) FROM member WHERE user = ? AND member = 1")
        totalLeaving = try connection.prepare("SELECT count(*) \(leaving)")
        created = try connection.prepare(
            "SELECT count(*) FROM conversation WHERE created_by = ? AND removed = 0")
        changed = try connection.prepare(
            "\(ofUser) AND (c.touched > ?2 OR m.touched > ?2) ORDER BY c.activity DESC, c.cid DESC")
        gone = try connection.prepare(
            """
            SELECT c.id FROM member AS m CROSS JOIN conversation AS c ON c.cid = m.cid
            WHERE m.user = ?1 AND m.member = 0 AND m.touched > ?2
            UNION ALL SELECT c.id \(leaving) AND c.touched > ?2
            """)
        state = try connection.prepare("SELECT touched, mark, floor, messages FROM state")
    }

    // MARK: one log

    /// The log of the conversation with this id.
    /// - Throws: `CacheError`, if the file can't be read.
    package func log(_ id: String) throws(CacheError) -> LogRow? {
        byID.bind(1, id)
        let log = try byID.first { Self.log($0, id: id, mark: lastMark) }
        if let log { lastMark = log.head.mark }
        return log
    }

    /// The log with this number, removed or not.
    /// - Throws: `CacheError`, if the file can't be read.
    package func log(number cid: Int) throws(CacheError) -> LogRow? {
        byNumber.bind(1, cid)
        return try byNumber.first { Self.log($0) }
    }

    /// - Parameters:
    ///   - id: the id, where it is known.
    ///   - mark: a mark that the row probably has: a process writes all logs with its own.
    private static func log(
        _ row: borrowing Statement, id: String = "", mark: String = ""
    ) -> LogRow {
        LogRow(
            cid: row.int(0), id: row.text(1, like: id),
            head: Head(
                epoch: row.text(2), seq: row.int(3), rev: row.int(4), mark: row.text(5, like: mark),
                floor: row.int(6)),
            recordRev: row.int(7), lastSeq: row.int(8),
            activity: Timestamp(milliseconds: row.int64(9)), touched: row.int(10),
            members: row.isNull(11) ? nil : row.int(11),
            restUpTo: row.isNull(12) ? nil : row.int(12),
            tail: row.isNull(13) ? nil : row.int(13))
    }

    /// Slot 0 without its participants.
    /// - Throws: `CacheError`, if the file can't be read.
    package func record(_ cid: Int) throws(CacheError) -> RecordRow? {
        record.bind(1, cid)
        return try record.first { row in
            RecordRow(
                title: row.optionalText(0), metadata: RawJSON(unchecked: row.blob(1)),
                unknown: [JSONMember](stored: row.optionalBlob(2)),
                createdAt: Timestamp(milliseconds: row.int64(3)),
                updatedAt: Timestamp(milliseconds: row.int64(4)), createdBy: row.optionalText(5))
        }
    }

    /// Whether the log, whose newest rev is `newest`, has this mark at this rev. At rev 0, where
    /// every log is empty, the mark is empty. Number 0 is the list of conversations.
    /// - Throws: `CacheError`, if the file can't be read.
    package func confirms(
        _ cid: Int, rev: Int, mark: String, newest: Int
    ) throws(CacheError) -> Bool {
        guard rev > 0 else { return rev == 0 && mark.isEmpty }
        guard rev <= newest else { return false }
        return try self.mark(cid, at: rev) == mark
    }

    /// The mark at a rev above 0 that the log has reached.
    /// - Throws: `CacheError`, if the file can't be read.
    func mark(_ cid: Int, at rev: Int) throws(CacheError) -> String? {
        confirmed.bind(1, cid)
        confirmed.bind(2, rev)
        return try confirmed.first { $0.text(0) }
    }

    /// The number of the distinct conversation that was created for these participants last. The
    /// caller must check whether it still has just them.
    /// - Throws: `CacheError`, if the file can't be read.
    package func newest(people: [UInt8]) throws(CacheError) -> Int? {
        byPeople.bind(1, people)
        return try byPeople.first { $0.int(0) }
    }

    // MARK: the list

    /// At most `limit` of the user's conversations, latest activity first, starting after `cursor`.
    /// - Complexity: O(conversations of the user): each is looked up once and the best are kept.
    /// - Throws: `CacheError`, if the file can't be read.
    package func listed(
        _ user: String, behind cursor: ListCursor?, limit: Int
    ) throws(CacheError) -> [ListCursor] {
        guard let cursor else {
            listed.bind(1, user)
            listed.bind(2, limit)
            return try listed.all(Self.place)
        }
        listedBehind.bind(1, user)
        listedBehind.bind(2, cursor.activity)
        listedBehind.bind(3, cursor.cid)
        listedBehind.bind(4, limit)
        return try listedBehind.all(Self.place)
    }

    private static func place(_ row: borrowing Statement) -> ListCursor {
        ListCursor(activity: row.int64(1), cid: row.int(0))
    }

    /// The number of conversations in which the user takes part.
    /// - Throws: `CacheError`, if the file can't be read.
    package func total(_ user: String) throws(CacheError) -> Int {
        total.bind(1, user)
        totalLeaving.bind(1, user)
        return (try total.first { $0.int(0) } ?? 0) - (try totalLeaving.first { $0.int(0) } ?? 0)
    }

    /// How many of the conversations that the user created there are.
    /// - Throws: `CacheError`, if the file can't be read.
    package func created(by user: String) throws(CacheError) -> Int {
        created.bind(1, user)
        return try created.first { $0.int(0) } ?? 0
    }

    /// The user's conversations that changed after the list's rev `rev`, latest activity first.
    /// - Throws: `CacheError`, if the file can't be read.
    package func changed(_ user: String, since rev: Int) throws(CacheError) -> [ListCursor] {
        changed.bind(1, user)
        changed.bind(2, rev)
        return try changed.all(Self.place)
    }

    /// The ids of the conversations that left the user's list after the list's rev `rev`.
    /// - Throws: `CacheError`, if the file can't be read.
    package func gone(_ user: String, since rev: Int) throws(CacheError) -> [String] {
        gone.bind(1, user)
        gone.bind(2, rev)
        return try gone.all { $0.text(0) }
    }

    /// The list of conversations as a log.
    /// - Throws: `CacheError`, if the file can't be read.
    package func list() throws(CacheError) -> ListRow {
        try state.first { row in
            ListRow(
                rev: row.int(0), mark: row.text(1), floor: row.int(2), messages: row.int(3))
        } ?? ListRow(rev: 0, mark: "", floor: 0, messages: 0)
    }
}

/// The list of all conversations as a log: each of its changes is a change of some conversation.
package struct ListRow: Sendable {
    package var rev: Int
    package var mark: String
    /// Removals up to this rev may have been purged.
    package var floor: Int
    /// The number of messages in the file, tombstones included.
    package var messages: Int
}
