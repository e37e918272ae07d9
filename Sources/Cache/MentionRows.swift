import Chat
import Ports
import SQLite
import Wire

/// Reads whom messages of a log mention, through the statements of one connection. Each statement
/// walks an index of one user, above a place.
package final class MentionRows {
    private let count: Statement
    private let countAll: Statement
    private let page: Statement
    private let pageAll: Statement

    package init(_ connection: Connection) throws(CacheError) {
        let rows = "FROM mention WHERE cid = ?1 AND seq > ?3"
        count = try connection.prepare("SELECT count(*) \(rows) AND user = ?2")
        countAll = try connection.prepare("SELECT count(*) \(rows) AND user = '' AND author <> ?2")
        let places = """
            SELECT m.id, n.seq FROM mention AS n CROSS JOIN message AS m
                ON m.cid = n.cid AND m.seq = n.seq
            WHERE n.cid = ?1 AND n.seq > ?3
            """
        let oldest = "ORDER BY n.seq LIMIT ?4"
        page = try connection.prepare("\(places) AND n.user = ?2 \(oldest)")
        pageAll = try connection.prepare(
            "\(places) AND n.user = '' AND n.author <> ?2 \(oldest)")
    }

    /// How many messages above a place mention a user.
    /// - Throws: `CacheError`, if the file can't be read.
    package func count(_ cid: Int, of user: String, above seq: Int) throws(CacheError) -> Int {
        try count(count, cid, user, seq) + count(countAll, cid, user, seq)
    }

    private func count(
        _ statement: borrowing Statement, _ cid: Int, _ user: String, _ seq: Int
    ) throws(CacheError) -> Int {
        statement.bind(1, cid)
        statement.bind(2, user)
        statement.bind(3, seq)
        return try statement.first { $0.int(0) } ?? 0
    }

    /// The first messages above a place that mention a user.
    /// - Throws: `CacheError`, if the file can't be read.
    package func page(
        _ cid: Int, of user: String, above seq: Int, limit: Int
    ) throws(CacheError) -> [MentionList.Place] {
        // Of each kind as many as are asked for: together the oldest of all.
        let places =
            try page(page, cid, user, seq, limit) + page(pageAll, cid, user, seq, limit)
        return Array(places.sorted { $0.seq < $1.seq }.prefix(limit))
    }

    private func page(
        _ statement: borrowing Statement, _ cid: Int, _ user: String, _ seq: Int, _ limit: Int
    ) throws(CacheError) -> [MentionList.Place] {
        statement.bind(1, cid)
        statement.bind(2, user)
        statement.bind(3, seq)
        statement.bind(4, limit)
        return try statement.all { MentionList.Place(id: $0.text(0), seq: $0.int(1)) }
    }
}

/// Writes whom messages of a log mention, all inside a transaction of the writer.
final class MentionWrites {
    private let insert: Statement
    private let drop: Statement

    init(_ connection: Connection) throws(CacheError) {
        insert = try connection.prepare("INSERT INTO mention VALUES (?, ?, ?, ?)")
        drop = try connection.prepare("DELETE FROM mention WHERE cid = ? AND seq = ?")
    }

    /// The message mentions these; of everybody there is one row, and none of who is named beside.
    /// - Throws: `CacheError`, if the file can't be written.
    func insert(
        _ mentioned: Mentioned, _ message: EncodedMessage, in cid: Int
    ) throws(CacheError) {
        insert.bind(1, cid)
        insert.bind(3, message.seq)
        insert.bind(4, message.author)
        for user in mentioned.all ? [""] : mentioned.users where !user.isSameID(message.author) {
            insert.bind(2, user)
            try insert.run()
        }
    }

    /// The message mentions nobody any longer.
    /// - Throws: `CacheError`, if the file can't be written.
    func drop(_ cid: Int, at seq: Int) throws(CacheError) {
        drop.bind(1, cid)
        drop.bind(2, seq)
        try drop.run()
    }
}

extension EncodedMessage.Address {
    /// As a column has it.
    var stored: Int? { isEmpty ? nil : rawValue }
}
