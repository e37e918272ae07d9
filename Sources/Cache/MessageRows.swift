import Chat
import SQLite
import Wire

/// Reads messages, through the statements of one connection. Every statement walks an index from
/// the requested place, so that a page costs the same at each end of a conversation.
package final class MessageRows {
    private static let columns =
        "seq, rev, id, author, deleted, created_at, json, content_rev, address"

    /// The place of the message with the id ?2 in the conversation ?1; most ids that are looked for
    /// are new, so each part is one step where it finds nothing, and a tail is short.
    private static let placeOfID = """
        coalesce(
            (SELECT seq FROM message INDEXED BY message_id
                WHERE cid = ?1 AND id = ?2 AND touched IS NULL),
            (SELECT seq FROM place_by_id WHERE cid = ?1 AND id = ?2),
            (SELECT seq FROM message
                WHERE cid = ?1 AND seq > (SELECT above FROM tail WHERE cid = ?1) AND id = ?2))
        """

    private let below: Statement
    private let above: Statement
    private let at: Statement
    private let byID: Statement
    private let sent: Statement
    private let place: Statement
    /// Where ids are taken.
    package let taken: IDRows
    private let names: Statement
    private let newest: Statement
    private let atOrAbove: Statement
    private let changes: ChangeRows
    private let undeleted: Statement
    private let deleted: Statement

    package init(_ connection: Connection) throws(CacheError) {
        let select = "SELECT \(Self.columns) FROM message WHERE cid = ?1"
        below = try connection.prepare(
            "\(select) AND seq < ?2 AND seq > ?3 ORDER BY seq DESC LIMIT ?4")
        above = try connection.prepare(
            "\(select) AND seq > ?2 AND seq < ?3 ORDER BY seq LIMIT ?4")
        at = try connection.prepare("\(select) AND seq = ?2")
        byID = try connection.prepare("\(select) AND seq = \(Self.placeOfID)")
        sent = try connection.prepare(
            "SELECT \(Self.columns), sent FROM message WHERE cid = ?1 AND seq = \(Self.placeOfID)")
        place = try connection.prepare(
            "SELECT seq FROM message WHERE cid = ?1 AND seq = \(Self.placeOfID)")
        taken = try IDRows(connection)
        names = try connection.prepare(
            "SELECT seq, id FROM message WHERE cid = ? AND seq >= ? ORDER BY seq")
        newest = try connection.prepare(
            "SELECT seq FROM message WHERE cid = ? ORDER BY seq DESC LIMIT 1")
        atOrAbove = try connection.prepare(
            "SELECT seq, created_at FROM message WHERE cid = ? AND seq >= ? ORDER BY seq LIMIT 1")
        changes = try ChangeRows(connection)
        undeleted = try connection.prepare(
            """
            SELECT seq FROM message WHERE cid = ? AND seq < ? AND deleted = 0
            ORDER BY seq DESC LIMIT 1
            """)
        // By itself SQLite would scan the messages: without statistics it prefers the primary key.
        deleted = try connection.prepare(
            """
            SELECT count(*) FROM message INDEXED BY message_deleted
            WHERE cid = ? AND deleted = 1 AND seq > ?
            """)
    }

    private static func message(_ row: borrowing Statement) -> EncodedMessage {
        EncodedMessage(
            seq: row.int(0), rev: row.int(1), id: row.text(2), author: row.text(3),
            isDeleted: row.bool(4), createdAt: Timestamp(milliseconds: row.int64(5)),
            contentRev: row.optionalInt(7),
            address: EncodedMessage.Address(rawValue: row.optionalInt(8) ?? 0), json: row.blob(6))
    }

    /// The first rows of a statement whose messages fit into `bytes` together; at least one.
    private static func messages(
        _ statement: borrowing Statement, limit: Int, bytes: Int
    ) throws(CacheError) -> [EncodedMessage] {
        defer { statement.reset() }
        var messages: [EncodedMessage] = []
        messages.reserveCapacity(min(limit, 100))
        var taken = 0
        while try statement.step() {
            let message = message(statement)
            taken += message.json.count
            if taken > bytes, !messages.isEmpty { break }
            messages.append(message)
        }
        return messages
    }

    // MARK: pages

    /// At most `limit` messages between two places, both exclusive, nearest to the upper one first.
    /// - Throws: `CacheError`, if the file can't be read.
    package func below(
        _ cid: Int, _ upper: Int, above lower: Int = 0, limit: Int, bytes: Int
    ) throws(CacheError) -> [EncodedMessage] {
        below.bind(1, cid)
        below.bind(2, upper)
        below.bind(3, lower)
        below.bind(4, limit)
        return try Self.messages(below, limit: limit, bytes: bytes)
    }

    /// At most `limit` messages between two places, both exclusive, nearest to the lower one first.
    /// - Throws: `CacheError`, if the file can't be read.
    package func above(
        _ cid: Int, _ lower: Int, below upper: Int = .max, limit: Int, bytes: Int
    ) throws(CacheError) -> [EncodedMessage] {
        above.bind(1, cid)
        above.bind(2, lower)
        above.bind(3, upper)
        above.bind(4, limit)
        return try Self.messages(above, limit: limit, bytes: bytes)
    }

    /// Whether there is a message below the place.
    /// - Throws: `CacheError`, if the file can't be read.
    package func isAny(_ cid: Int, below upper: Int) throws(CacheError) -> Bool {
        below.bind(1, cid)
        below.bind(2, upper)
        below.bind(3, 0)
        below.bind(4, 1)
        return try below.exists()
    }

    /// Whether there is a message above the place.
    /// - Throws: `CacheError`, if the file can't be read.
    package func isAny(_ cid: Int, above lower: Int) throws(CacheError) -> Bool {
        above.bind(1, cid)
        above.bind(2, lower)
        above.bind(3, Int.max)
        above.bind(4, 1)
        return try above.exists()
    }

    // MARK: single messages

    /// The message at a place.
    /// - Throws: `CacheError`, if the file can't be read.
    package func message(_ cid: Int, at seq: Int) throws(CacheError) -> EncodedMessage? {
        at.bind(1, cid)
        at.bind(2, seq)
        return try at.first(Self.message)
    }

    /// The message with an id.
    /// - Throws: `CacheError`, if the file can't be read.
    package func message(_ cid: Int, id: String) throws(CacheError) -> EncodedMessage? {
        byID.bind(1, cid)
        byID.bind(2, id)
        return try byID.first(Self.message)
    }

    /// The message with an id, and the hash of what was first sent under it.
    /// - Throws: `CacheError`, if the file can't be read.
    package func sent(
        _ cid: Int, id: String
    ) throws(CacheError) -> (message: EncodedMessage, hash: [UInt8])? {
        sent.bind(1, cid)
        sent.bind(2, id)
        return try sent.first { (Self.message($0), $0.blob(9)) }
    }

    /// The place of the message with an id.
    /// - Throws: `CacheError`, if the file can't be read.
    package func place(_ cid: Int, id: String) throws(CacheError) -> Int? {
        place.bind(1, cid)
        place.bind(2, id)
        return try place.first { $0.int(0) }
    }

    /// The ids of the messages above a place.
    /// - Throws: `CacheError`, if the file can't be read.
    package func ids(_ cid: Int, above seq: Int) throws(CacheError) -> [String] {
        names.bind(1, cid)
        names.bind(2, seq + 1)
        return try names.all { $0.text(1) }
    }

    /// The ids of the messages at these places, which must ascend; places without a message are
    /// left out. A holder of a thousand runs asks for two thousand places, so the cursor steps to a
    /// place that is near: a step costs a fraction of a search.
    /// - Throws: `CacheError`, if the file can't be read.
    package func ids(_ cid: Int, at places: [Int]) throws(CacheError) -> [Int: String] {
        defer { names.reset() }
        var ids: [Int: String] = [:]
        ids.reserveCapacity(places.count)
        var next = 0
        while next < places.count {
            names.reset()
            names.bind(1, cid)
            names.bind(2, places[next])
            var seq: Int
            repeat {
                guard try names.step() else { return ids }
                seq = names.int(0)
                while next < places.count, places[next] < seq { next += 1 }
                if next < places.count, places[next] == seq { ids[seq] = names.text(1) }
                while next < places.count, places[next] == seq { next += 1 }
            } while next < places.count && places[next] - seq <= Self.near
        }
        return ids
    }

    /// The number of steps that cost about as much as a search.
    private static let near = 4

    /// The seq of the newest message; 0 if there is none.
    /// - Throws: `CacheError`, if the file can't be read.
    package func newest(_ cid: Int) throws(CacheError) -> Int {
        newest.bind(1, cid)
        return try newest.first { $0.int(0) } ?? 0
    }

    /// The seq of the first message that is not older than a moment; nil if all are older. Messages
    /// are ordered by time, with or without holes between them, so a binary search finds it; it
    /// needs no index on the time.
    /// - Complexity: O(log `newest`) look-ups
    /// - Throws: `CacheError`, if the file can't be read.
    package func place(_ cid: Int, notBefore moment: Timestamp) throws(CacheError) -> Int? {
        var found: Int?
        var low = 0
        // Not the head's seq: in a cache, newer messages may lie above the stream's position.
        var high = try newest(cid) + 1
        while low + 1 < high {
            let middle = low + (high - low) / 2
            atOrAbove.bind(1, cid)
            atOrAbove.bind(2, middle)
            let row = try atOrAbove.first { (seq: $0.int(0), at: $0.int64(1)) }
            if let row, row.at < moment.milliseconds {
                low = row.seq
            } else {
                found = row?.seq ?? found
                high = middle
            }
        }
        return found
    }

    // MARK: changes

    /// The seqs of at most `limit` messages that changed after `rev`, newest change first.
    /// - Throws: `CacheError`, if the file can't be read.
    package func newestChanges(
        _ cid: Int, since rev: Int, limit: Int
    ) throws(CacheError) -> [Int] {
        try changes.newest(cid, since: rev, limit: limit)
    }

    /// At most `limit` messages that changed after `rev`, oldest change first.
    /// - Throws: `CacheError`, if the file can't be read.
    package func changes(
        _ cid: Int, since rev: Int, limit: Int, bytes: Int
    ) throws(CacheError) -> [EncodedMessage] {
        var messages: [EncodedMessage] = []
        var taken = 0
        for place in try changes.oldest(cid, since: rev, limit: limit) {
            guard let message = try message(cid, at: place) else { continue }
            taken += message.json.count
            if taken > bytes, !messages.isEmpty { break }
            messages.append(message)
        }
        return messages
    }

    /// Whether a message changed after `rev`.
    /// - Throws: `CacheError`, if the file can't be read.
    package func isAny(_ cid: Int, changedAfter rev: Int) throws(CacheError) -> Bool {
        try !changes.newest(cid, since: rev, limit: 1).isEmpty
    }

    // MARK: counts

    /// Finds the log's last message anew, now that it is deleted. What is walked over once is not
    /// walked over again.
    /// - Throws: `CacheError`, if the file can't be read.
    package func hideLast(of log: inout LogRow) throws(CacheError) {
        undeleted.bind(1, log.cid)
        undeleted.bind(2, log.restEnd)
        log.hideLast(next: try undeleted.first { $0.int(0) } ?? 0)
    }

    /// The number of deleted messages above a seq.
    /// - Throws: `CacheError`, if the file can't be read.
    package func deletedCount(_ cid: Int, above seq: Int) throws(CacheError) -> Int {
        deleted.bind(1, cid)
        deleted.bind(2, seq)
        return try deleted.first { $0.int(0) } ?? 0
    }
}
