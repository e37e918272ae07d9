import Foundation

/// Two Postgres servers of which the second follows the first by streaming replication, over a way
/// that can be cut.
package final class PostgresPair {
    package let primary: PostgresProcess
    package let standby: PostgresProcess
    /// From the standby to the primary.
    package let way: TCPProxy
    /// The name of the database with the schema.
    package let database: String

    /// - Parameter isSynchronous: whether the primary acknowledges only what the standby has.
    /// - Throws: `TestFailure` where they don't come up.
    package init(isSynchronous: Bool = false) throws {
        let primary = try PostgresProcess(Self.settings)
        self.primary = primary
        let url = try primary.database()
        database = String(url.split(separator: "/").last ?? "")
        let way = try TCPProxy(to: primary.port)
        self.way = way
        standby = try PostgresProcess(Self.settings) { standby in
            // The files come straight, and what follows by the way; the later line counts.
            try standby.copy(from: primary.port, follows: true)
            let settings = standby.data + "/postgresql.auto.conf"
            let text = try String(contentsOfFile: settings, encoding: .utf8)
            let line = "primary_conninfo = 'host=127.0.0.1 port=\(way.port) user=postgres'\n"
            try Data((text + line).utf8).write(to: URL(filePath: settings))
        }
        try Self.expect(Self.isStreaming(primary), "the standby does not follow")
        guard isSynchronous else { return }
        try primary.query("alter system set synchronous_standby_names = '*'")
        try primary.query("select pg_reload_conf()")
        try Self.expect(
            try primary.query(
                "select count(*) from pg_stat_replication where sync_state = 'sync'") == "1",
            "the standby is not synchronous")
    }

    deinit { way.close() }

    /// A standby that was cut off looks for its primary again soon.
    package static let settings = ["wal_retrieve_retry_interval=100ms"]

    private static func isStreaming(_ primary: PostgresProcess) throws -> Bool {
        try primary.query("select count(*) from pg_stat_replication where state = 'streaming'")
            == "1"
    }

    private static func expect(_ condition: @autoclosure () throws -> Bool, _ what: String) throws {
        guard try Deadline.standard.poll(until: condition) else { throw TestFailure(what) }
    }

    /// The database at both servers, as libpq takes it.
    package var url: String {
        "postgresql://postgres@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)/\(database)"
    }

    /// Makes the standby a primary, and waits until it is one.
    /// - Throws: `TestFailure`
    package func promote() throws {
        guard try standby.query("select pg_promote()") == "t" else {
            throw TestFailure("the standby was not promoted")
        }
    }
}
