import Chat
import Ports
import SQLite

/// The coverage of a conversation in the cache of another origin: runs, each with its own `asOf`
/// rev. Runs of one rev never touch; runs of different revs may touch but never overlap. Read and
/// written through one connection, in the transaction of the rows that it describes.
package final class CoverageRows {
    private let select: Statement
    private let overlapping: Statement
    private let insert: Statement
    private let delete: Statement

    package init(_ connection: Connection) throws(CacheError) {
        select = try connection.prepare(
            "SELECT low, high, as_of FROM coverage WHERE cid = ? ORDER BY low")
        // Runs don't overlap, so of those that begin below, only the last can reach into the range.
        overlapping = try connection.prepare(
            """
            SELECT low, high, as_of FROM coverage
            WHERE cid = ?1 AND low <= ?3 AND high >= ?2 AND low >= coalesce(
                (SELECT max(low) FROM coverage WHERE cid = ?1 AND low <= ?2), 0)
            ORDER BY low
            """)
        insert = try connection.prepare("INSERT INTO coverage VALUES (?, ?, ?, ?)")
        delete = try connection.prepare("DELETE FROM coverage WHERE cid = ? AND low = ?")
    }

    /// The run in a row; nil if the file is damaged and the row is not a run. Such places count as
    /// not held.
    private static func stored(_ row: borrowing Statement) -> Cached.Run? {
        Coverage.Run(checking: row.int(0), row.int(1)).map { Cached.Run($0, asOf: row.int(2)) }
    }

    /// The runs of a conversation, ascending.
    /// - Throws: `CacheError`, if the file can't be read.
    package func runs(_ cid: Int) throws(CacheError) -> [Cached.Run] {
        select.bind(1, cid)
        return try select.all(Self.stored).compactMap(\.self)
    }

    /// Records that the places from `low` to `high` are held as of `asOf`, replacing what was known
    /// of them before; nothing if `low > high`.
    ///
    /// Runs as of `standing` or later are all at the stream's position: those that touch the new
    /// run are joined with it, as of the earliest rev, which claims no more than is true. Otherwise
    /// each live message would stay a run of its own for ever.
    /// - Throws: `CacheError`, if the file can't be written.
    package func hold(
        _ cid: Int, _ low: Int, _ high: Int, asOf: Int, standing: Int = .max
    ) throws(CacheError) {
        guard low <= high else { return }
        var joined = Cached.Run(Coverage.Run(low, high), asOf: asOf)
        var known: Cached.Run
        repeat {
            known = joined
            for stored in try around(cid, known.run.low - 1, known.run.high + 1)
            where stored.run.low < known.run.low || known.run.high < stored.run.high {
                let isOne = min(stored.asOf, known.asOf) >= standing || stored.asOf == known.asOf
                guard isOne else { continue }
                joined.run.low = min(joined.run.low, stored.run.low)
                joined.run.high = max(joined.run.high, stored.run.high)
                joined.asOf = min(joined.asOf, stored.asOf)
            }
            // A joined run may in turn touch another.
        } while joined != known
        try drop(cid, joined.run.low, joined.run.high)
        try insert(cid, joined)
    }

    /// Records that the places from `low` to `high` are not held; nothing if `low > high`.
    /// - Throws: `CacheError`, if the file can't be written.
    package func drop(_ cid: Int, _ low: Int, _ high: Int) throws(CacheError) {
        guard low <= high else { return }
        for stored in try around(cid, low, high) {
            delete.bind(1, cid)
            delete.bind(2, stored.run.low)
            try delete.run()
            if stored.run.low < low {
                try insert(
                    cid, Cached.Run(Coverage.Run(stored.run.low, low - 1), asOf: stored.asOf))
            }
            if stored.run.high > high {
                try insert(
                    cid, Cached.Run(Coverage.Run(high + 1, stored.run.high), asOf: stored.asOf))
            }
        }
    }

    private func around(_ cid: Int, _ low: Int, _ high: Int) throws(CacheError) -> [Cached.Run] {
        overlapping.bind(1, cid)
        overlapping.bind(2, low)
        overlapping.bind(3, high)
        return try overlapping.all(Self.stored).compactMap(\.self)
    }

    private func insert(_ cid: Int, _ stored: Cached.Run) throws(CacheError) {
        insert.bind(1, cid)
        insert.bind(2, stored.run.low)
        insert.bind(3, stored.run.high)
        insert.bind(4, stored.asOf)
        try insert.run()
    }
}
