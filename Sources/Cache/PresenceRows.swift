import Ports
import SQLite
import Wire

/// Who is there, in the file of the embedded log: reads and writes of its two tables, all inside a
/// transaction of the writer. They know the tables and judge nothing. A user has one row: an
/// earlier process of the gateway has ended when the present one says the user.
package final class PresenceRows {
    private let read: Statement
    private let write: Statement
    private let forget: Statement
    private let leases: Statement
    private let renew: Statement
    private let forgetLeases: Statement

    package init(_ connection: Connection) throws(CacheError) {
        read = try connection.prepare(
            """
            SELECT p.gateway, p.away, p.since, p.said, p.ended, p.until, l.renewed
            FROM presence AS p LEFT JOIN presence_lease AS l ON l.gateway = p.gateway
            WHERE p.user = ?
            """)
        write = try connection.prepare(
            """
            INSERT INTO presence (user, gateway, away, since, said, ended, until)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (user) DO UPDATE SET gateway = excluded.gateway, away = excluded.away,
                since = excluded.since, said = excluded.said, ended = excluded.ended,
                until = excluded.until
            """)
        forget = try connection.prepare(
            """
            DELETE FROM presence WHERE user IN (
                SELECT p.user FROM presence AS p
                WHERE p.said < ?1 AND coalesce(p.ended, 0) < ?1 AND (
                    p.ended IS NOT NULL OR p.gateway <> ?2 AND NOT EXISTS (
                        SELECT 1 FROM presence_lease AS l
                        WHERE l.gateway = p.gateway AND l.renewed >= ?1))
                LIMIT 100)
            """)
        leases = try connection.prepare(
            "SELECT gateway, renewed FROM presence_lease WHERE renewed >= ?")
        renew = try connection.prepare(
            """
            INSERT INTO presence_lease (gateway, renewed) VALUES (?, ?)
            ON CONFLICT (gateway) DO UPDATE SET renewed = excluded.renewed
            """)
        forgetLeases = try connection.prepare("DELETE FROM presence_lease WHERE renewed < ?")
    }

    /// What the file has of the user.
    /// - Throws: `CacheError`, if the file can't be read.
    package func entries(of user: String) throws(CacheError) -> [PresenceEntry] {
        read.bind(1, user)
        return try read.all {
            PresenceEntry(
                gateway: $0.text(0), isAway: $0.int(1) == 1, since: $0.int64(2),
                said: $0.int64(3),
                end: $0.isNull(4)
                    ? nil : PresenceEntry.End(at: $0.int64(4), until: $0.int64(5)),
                renewed: $0.isNull(6) ? nil : $0.int64(6))
        }
    }

    /// Writes what a gateway says of a user.
    /// - Throws: `CacheError`, if the file can't be written.
    package func say(
        _ saying: PresenceSaying, of gateway: String, at now: Int64
    ) throws(CacheError) {
        write.bind(1, saying.user)
        write.bind(2, gateway)
        write.bind(3, saying.isAway)
        write.bind(4, now - saying.begun)
        write.bind(5, now)
        write.bind(6, saying.ended.map { Int(now - $0) })
        write.bind(7, saying.ended.map { _ in Int(now + saying.lasts) })
        try write.run()
    }

    /// The leases renewed since then.
    /// - Throws: `CacheError`, if the file can't be read.
    package func leases(since moment: Int64) throws(CacheError) -> [String: Int64] {
        leases.bind(1, moment)
        let found = try leases.all { (gateway: $0.text(0), renewed: $0.int64(1)) }
        return Dictionary(found.map { ($0.gateway, $0.renewed) }) { $1 }
    }

    /// Renews the lease, and forgets what is older than `oldest`.
    /// - Throws: `CacheError`, if the file can't be written.
    package func renew(
        _ gateway: String, at now: Int64, forgetting oldest: Int64
    ) throws(CacheError) {
        renew.bind(1, gateway)
        renew.bind(2, now)
        try renew.run()
        forget.bind(1, oldest)
        forget.bind(2, gateway)
        try forget.run()
        forgetLeases.bind(1, oldest)
        try forgetLeases.run()
    }
}
