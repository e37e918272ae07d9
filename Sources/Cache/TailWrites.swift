import Chat
import SQLite
import Wire

/// The statements that write tails, all inside a transaction of the writer.
///
/// A message that is sent is a row in `message`, and `tail` has the head after it: in one small
/// tree, whose pages many conversations share, and which lists can read fast. All else that the
/// message changes follows from its row as long as it is in the tail: the log's last message; that
/// its author has read up to it; its place by id and by rev. `Rows` reads it so. Folding writes all
/// of it down for the whole tail at once, and so each tree once and not for each message. Nothing
/// lives in memory alone: after a crash, and in another process, the same rows say the same.
///
/// A tail has new messages alone, all under the mark of the head that is written. So whatever else
/// changes the log folds first, and who writes under another mark folds in the same transaction.
final class TailWrites {
    private let note: Statement
    private let names: Statement
    private let changes: Statement
    private let markers: Statement
    private let end: Statement
    private let move: Statement

    init(_ connection: Connection) throws(CacheError) {
        note = try connection.prepare("REPLACE INTO tail VALUES (?, ?, ?, ?, ?, ?)")
        let tail = "FROM message WHERE cid = ?1 AND seq > ?2"
        names = try connection.prepare("INSERT INTO place_by_id SELECT cid, id, seq \(tail)")
        changes = try connection.prepare("INSERT INTO place_by_rev SELECT cid, rev, seq \(tail)")
        // With max() SQLite takes the other columns from the row that has the highest seq.
        markers = try connection.prepare(
            """
            INSERT INTO member SELECT cid, author, 0, 0, 0, max(seq), 0, created_at, created_at,
                NULL, NULL, NULL, max(seq), 0 \(tail) GROUP BY author
            ON CONFLICT (cid, user) DO UPDATE SET
                last_read = max(last_read, excluded.last_read), sent = excluded.sent
            """)
        end = try connection.prepare("DELETE FROM tail WHERE cid = ?")
        move = try connection.prepare(
            "UPDATE place_by_rev SET rev = ?3 WHERE cid = ?1 AND rev = ?2")
    }

    /// The log, which has a tail above this seq, has this head now.
    /// - Throws: `CacheError`, if the file can't be written.
    func note(_ log: LogRow, above seq: Int) throws(CacheError) {
        note.bind(1, log.cid)
        note.bind(2, seq)
        note.bind(3, log.head.seq)
        note.bind(4, log.head.rev)
        note.bind(5, log.activity.milliseconds)
        note.bind(6, log.touched)
        try note.run()
    }

    /// Writes down what follows from the tail, but for the head.
    /// - Complexity: O(messages of the tail)
    /// - Throws: `CacheError`, if the file can't be written.
    func fold(_ cid: Int, above seq: Int) throws(CacheError) {
        try run(names, cid, seq)
        try run(changes, cid, seq)
        try run(markers, cid, seq)
        end.bind(1, cid)
        try end.run()
    }

    /// A message has changed; one from before the eighth version has its rev in an index.
    /// - Throws: `CacheError`, if the file can't be written.
    func move(_ cid: Int, from rev: Int, to next: Int) throws(CacheError) {
        move.bind(3, next)
        try run(move, cid, rev)
    }

    private func run(
        _ statement: borrowing Statement, _ cid: Int, _ number: Int
    ) throws(CacheError) {
        statement.bind(1, cid)
        statement.bind(2, number)
        try statement.run()
    }
}
