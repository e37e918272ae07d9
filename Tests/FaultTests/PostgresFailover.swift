import TestSupport

/// A primary and a standby that follows it from behind; the standby is promoted without the end of
/// the log, while the primary is gone or goes on answering.
final class PostgresFailover: FailingServers {
    private let pair: PostgresPair
    private let kills: Bool
    private var isPromoted = false

    let groups = [["c0", "c1", "c2", "c3"]]
    let quiet = "quiet"

    init(kills: Bool) throws {
        self.kills = kills
        pair = try PostgresPair()
    }

    var settings: [String: String] {
        [
            "upstream.kind": "postgres", "upstream.postgres.url": pair.url,
            "sync.verify_interval": "1s",
        ]
    }

    func beginLosing() { pair.way.set(.refusing) }

    func fail() throws {
        if kills { pair.primary.kill() }
        try pair.promote()
        isPromoted = true
    }

    func successor() -> LogServer? {
        isPromoted ? LogServer(pair.standby, pair.standby.url(pair.database)) : nil
    }

    func leftover() throws -> LogServer {
        let server = kills ? try PostgresProcess(leftBy: pair.primary) : pair.primary
        return LogServer(server, server.url(pair.database))
    }

    func hold() {}

    /// It is made anew from who has taken its place, and follows it.
    func heal() throws {
        pair.primary.kill()
        try pair.primary.copy(from: pair.standby.port, follows: true)
        try pair.primary.restart()
    }

    func isHealed() -> Bool {
        (try? pair.standby.query(
            "select count(*) from pg_stat_replication where state = 'streaming'")) == "1"
    }
}
