import Chat
import Engine

/// What the cache of another origin holds of a conversation: runs, each as of a rev of its own.
/// Runs of one rev never touch; runs of different revs may touch but never overlap. Read and
/// written through one connection, in the transaction of the rows that it speaks of.
package final class CoverageRows {
    private let select: Statement
    private let overlapping: Statement
    private let insert: Statement
    private let delete: Statement

    package init(_ connection: Connection) throws(CacheError) {
        select = try connection.prepare(
            "SELECT low, high, as_of FROM coverage WHERE cid = ? ORDER BY low")
        // Runs don't overlap, so only the last one that begins below can reach in from there.
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

    private static func stored(_ row: borrowing Statement) -> Cached.Run {
        Cached.Run(Coverage.Run(row.int(0), row.int(1)), asOf: row.int(2))
    }

    /// The runs of a conversation, ascending.
    /// - Throws: `CacheError`, if the file can't be read.
    package func runs(_ cid: Int) throws(CacheError) -> [Cached.Run] {
        select.bind(1, cid)
        return try select.all(Self.stored)
    }

    /// Writes that the places from `low` to `high` are held as of `asOf`, whatever was known of
    /// them before; nothing if `low > high`.
    /// - Throws: `CacheError`, if the file can't be written.
    package func hold(_ cid: Int, _ low: Int, _ high: Int, asOf: Int) throws(CacheError) {
        guard low <= high else { return }
        var joined = Coverage.Run(low, high)
        for stored in try around(cid, low - 1, high + 1) where stored.asOf == asOf {
            joined.low = min(joined.low, stored.run.low)
            joined.high = max(joined.high, stored.run.high)
        }
        try drop(cid, joined.low, joined.high)
        try insert(cid, Cached.Run(joined, asOf: asOf))
    }

    /// Writes that the places from `low` to `high` are not held; nothing if `low > high`.
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
        return try overlapping.all(Self.stored)
    }

    private func insert(_ cid: Int, _ stored: Cached.Run) throws(CacheError) {
        insert.bind(1, cid)
        insert.bind(2, stored.run.low)
        insert.bind(3, stored.run.high)
        insert.bind(4, stored.asOf)
        try insert.run()
    }
}
