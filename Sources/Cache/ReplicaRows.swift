import SQLite

/// A conversation's fields beyond its log, in the cache of another origin.
package struct ReplicaRow: Sendable, Hashable {
    /// The rev above which the value of every changed slot is held.
    package var changesFrom: Int
    /// How many of its messages are in the file.
    package var held: Int
    /// The mark at the rev of slot 0, if known.
    package var recordMark: String?
    /// The newest change whose value was taken, if that is above the head.
    package var seen: Seen?

    /// A change of the conversation's log.
    package struct Seen: Sendable, Hashable {
        package var seq: Int
        package var rev: Int
        package var mark: String
    }

    package init(changesFrom: Int, held: Int, recordMark: String?, seen: Seen? = nil) {
        self.changesFrom = changesFrom
        self.held = held
        self.recordMark = recordMark
        self.seen = seen
    }
}

/// Reads what only the cache of another origin has, through the statements of one connection: how
/// far it may be believed, and the marks of single changes.
package final class ReplicaRows {
    /// The version of a message that is held.
    struct Stamp {
        var rev: Int
        var id: String
        var mark: String?
    }

    private let row: Statement
    private let stamp: Statement
    private let mark: Statement

    package init(_ connection: Connection) throws(CacheError) {
        row = try connection.prepare(
            """
            SELECT changes_from, held, record_mark, seen_seq, seen_rev, seen_mark
            FROM conversation WHERE cid = ?
            """)
        stamp = try connection.prepare(
            "SELECT rev, id, mark FROM message WHERE cid = ? AND seq = ?")
        mark = try connection.prepare(
            """
            SELECT mark FROM message INDEXED BY message_rev
            WHERE cid = ? AND rev = ? AND mark IS NOT NULL AND touched IS NULL
            """)
    }

    /// How far the cache of this conversation may be believed.
    /// - Throws: `CacheError`, if the file can't be read.
    package func row(_ cid: Int) throws(CacheError) -> ReplicaRow {
        row.bind(1, cid)
        return try row.first {
            ReplicaRow(
                changesFrom: $0.int(0), held: $0.int(1), recordMark: $0.optionalText(2),
                seen: Self.seen($0))
        } ?? ReplicaRow(changesFrom: 0, held: 0, recordMark: nil)
    }

    private static func seen(_ row: borrowing Statement) -> ReplicaRow.Seen? {
        guard let mark = row.optionalText(5) else { return nil }
        return ReplicaRow.Seen(seq: row.int(3), rev: row.int(4), mark: mark)
    }

    /// The version of the message at a place that is held; nil if none is.
    /// - Throws: `CacheError`, if the file can't be read.
    func stamp(_ cid: Int, at seq: Int) throws(CacheError) -> Stamp? {
        stamp.bind(1, cid)
        stamp.bind(2, seq)
        return try stamp.first {
            Stamp(rev: $0.int(0), id: $0.text(1), mark: $0.optionalText(2))
        }
    }

    /// The log's mark at `rev`, if the message that changed there is held.
    /// - Throws: `CacheError`, if the file can't be read.
    func mark(_ cid: Int, at rev: Int) throws(CacheError) -> String? {
        mark.bind(1, cid)
        mark.bind(2, rev)
        return try mark.first { $0.text(0) }
    }
}
