import Chat
import Ports
import SQLite
import Wire

/// Reads who reacts to messages of a log, through the statements of one connection. A message's own
/// row has what it shows of them. Each statement walks an index of one message.
package final class ReactionRows {
    private let keys: Statement
    private let users: Statement
    private let all: Statement
    private let ofKey: Statement
    private let own: Statement

    package init(_ connection: Connection) throws(CacheError) {
        keys = try connection.prepare(
            "SELECT key, rev FROM reaction WHERE cid = ? AND seq = ? AND user = ?")
        users = try connection.prepare(
            """
            SELECT user FROM reaction WHERE cid = ? AND seq = ? AND key = ? ORDER BY rev
            LIMIT 1 OFFSET ?
            """)
        let select = "SELECT user, key, at, rev FROM reaction WHERE cid = ?1 AND seq = ?2"
        all = try connection.prepare("\(select) AND rev > ?3 ORDER BY rev LIMIT ?4")
        ofKey = try connection.prepare(
            "\(select) AND key = ?5 AND rev > ?3 ORDER BY rev LIMIT ?4")
        own = try connection.prepare(
            """
            SELECT m.seq, r.key, r.rev FROM message AS m CROSS JOIN reaction AS r
                ON r.cid = m.cid AND r.seq = m.seq AND r.user = ?4
            WHERE m.cid = ?1 AND m.seq > ?2 AND m.seq < ?3 AND m.content_rev IS NOT NULL
                AND m.deleted = 0
            """)
    }

    /// The keys with which a user reacts to a message, oldest first.
    /// - Throws: `CacheError`, if the file can't be read.
    package func keys(
        _ cid: Int, at seq: Int, of user: String
    ) throws(CacheError) -> [String] {
        keys.bind(1, cid)
        keys.bind(2, seq)
        keys.bind(3, user)
        // At most a few, which SQLite would sort in a table of its own.
        return try keys.all { (key: $0.text(0), rev: $0.int(1)) }
            .sorted { $0.rev < $1.rev }.map(\.key)
    }

    /// The oldest user of a key behind so many.
    /// - Throws: `CacheError`, if the file can't be read.
    package func user(
        _ cid: Int, at seq: Int, key: String, behind count: Int
    ) throws(CacheError) -> String? {
        users.bind(1, cid)
        users.bind(2, seq)
        users.bind(3, key)
        users.bind(4, count)
        return try users.first { $0.text(0) }
    }

    /// Reactions to a message, oldest first; one more than the limit, if there are more.
    /// - Throws: `CacheError`, if the file can't be read.
    func page(
        _ cid: Int, at seq: Int, _ request: ReactionsRequest
    ) throws(CacheError) -> [ReactionList.Entry] {
        guard let key = request.key else { return try page(all, cid, seq, request) }
        ofKey.bind(5, key)
        return try page(ofKey, cid, seq, request)
    }

    private func page(
        _ statement: borrowing Statement, _ cid: Int, _ seq: Int, _ request: ReactionsRequest
    ) throws(CacheError) -> [ReactionList.Entry] {
        statement.bind(1, cid)
        statement.bind(2, seq)
        statement.bind(3, request.after)
        statement.bind(4, request.limit + 1)
        return try statement.all {
            ReactionList.Entry(
                user: $0.text(0), key: $0.text(1), at: Timestamp(milliseconds: $0.int64(2)),
                rev: $0.int(3))
        }
    }

    /// With which keys a user reacts to messages between two places, exclusive.
    /// - Throws: `CacheError`, if the file can't be read.
    func own(
        _ cid: Int, of user: String, after: Int, before: Int
    ) throws(CacheError) -> [OwnReactions] {
        own.bind(1, cid)
        own.bind(2, after)
        own.bind(3, before)
        own.bind(4, user)
        let found = try own.all { (seq: $0.int(0), key: $0.text(1), rev: $0.int(2)) }
        return [OwnReactions](
            found.sorted { ($0.seq, $0.rev) < ($1.seq, $1.rev) }.map { ($0.seq, $0.key) })
    }
}

/// Writes who reacts to messages of a log, all inside a transaction of the writer.
final class ReactionWrites {
    private let begin: Statement
    private let end: Statement
    private let drop: Statement
    private let note: Statement
    private let left: Statement
    private let connection: Connection

    init(_ connection: Connection) throws(CacheError) {
        begin = try connection.prepare("INSERT INTO reaction VALUES (?, ?, ?, ?, ?, ?)")
        end = try connection.prepare(
            "DELETE FROM reaction WHERE cid = ? AND seq = ? AND user = ? AND key = ?")
        drop = try connection.prepare(
            """
            DELETE FROM reaction WHERE cid = ?1 AND seq = ?2 AND (user, key) IN (
                SELECT user, key FROM reaction WHERE cid = ?1 AND seq = ?2
                LIMIT \(Purge.chunk))
            """)
        note = try connection.prepare(
            "UPDATE message SET content_rev = ? WHERE cid = ? AND seq = ?")
        left = try connection.prepare(
            """
            SELECT cid, seq FROM message INDEXED BY message_reacted
            WHERE deleted = 1 AND content_rev IS NOT NULL LIMIT 1
            """)
        self.connection = connection
    }

    /// A user reacts to a message from this change on.
    /// - Throws: `CacheError`, if the file can't be written.
    func begin(
        _ message: EncodedMessage, of user: String, key: String, at: Timestamp, in cid: Int
    ) throws(CacheError) {
        begin.bind(1, cid)
        begin.bind(2, message.seq)
        begin.bind(3, user)
        begin.bind(4, key)
        begin.bind(5, message.rev)
        begin.bind(6, at.milliseconds)
        try begin.run()
    }

    /// A user reacts to a message no longer.
    /// - Throws: `CacheError`, if the file can't be written.
    func end(
        _ message: EncodedMessage, of user: String, key: String, in cid: Int
    ) throws(CacheError) {
        end.bind(1, cid)
        end.bind(2, message.seq)
        end.bind(3, user)
        end.bind(4, key)
        try end.run()
    }

    /// Nobody reacts to a message any longer: it was deleted. What is left of very many reactions
    /// is for `purge`.
    /// - Throws: `CacheError`, if the file can't be written.
    func drop(_ cid: Int, at seq: Int) throws(CacheError) {
        drop.bind(1, cid)
        drop.bind(2, seq)
        try drop.run()
        note.bind(1, connection.changes < Purge.chunk ? nil : 0)
        note.bind(2, cid)
        note.bind(3, seq)
        try note.run()
    }

    /// Deletes a piece of the reactions to deleted messages.
    /// - Returns: whether there was one.
    /// - Throws: `CacheError`, if the file can't be written.
    func purge() throws(CacheError) -> Bool {
        guard let (cid, seq) = try left.first({ ($0.int(0), $0.int(1)) }) else { return false }
        try drop(cid, at: seq)
        return true
    }
}
