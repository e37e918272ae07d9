import Foundation
import TestSupport

/// A primary and a standby that follows it from behind; the standby is promoted without the end of
/// the log, while the primary is gone or goes on answering.
final class PostgresFailover: FailingServers {
    private let pair: PostgresPair
    private let kills: Bool
    private var isPromoted = false

    let groups = [["c0", "c1", "c2", "c3"]]
    let quiet = "quiet"
    let isElecting = false

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

    func fail() { if kills { pair.primary.kill() } }

    func successor() throws -> LogServer? {
        if !isPromoted { try pair.promote() }
        isPromoted = true
        return LogServer(pair.standby, pair.standby.url(pair.database))
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

/// One Postgres of which somebody has an earlier state, and goes back to it.
final class PostgresReturn: FailingServers {
    enum Way {
        /// Its files are replaced by those of a base backup.
        case backup
        /// The database is dropped, and made again from a dump.
        case dump
        /// Gateways are led to a copy elsewhere, while the first goes on answering.
        case copy
    }

    private let way: Way
    private let server: PostgresProcess
    private let url: String
    /// The file that gateways read the URL from.
    private let file: String
    private var earlier: PostgresProcess?
    private var isBack = false
    private var left: LogServer?

    let groups = [["c0", "c1", "c2", "c3"]]
    let quiet = "quiet"
    let isElecting = false

    init(_ way: Way) throws {
        self.way = way
        server = try PostgresProcess()
        url = try server.database()
        file = server.directory + "/url"
        try Data(url.utf8).write(to: URL(filePath: file))
    }

    var settings: [String: String] {
        [
            "upstream.kind": "postgres", "upstream.postgres.url_file": file,
            "sync.verify_interval": "1s",
        ]
    }

    private var database: String { String(url.split(separator: "/").last ?? "") }
    private var dump: String { server.directory + "/dump" }

    func beginLosing() throws {
        switch way {
        case .dump: try server.run("pg_dump", ["--format", "custom", "--file", dump, url])
        case .backup, .copy:
            let port = server.port
            earlier = try PostgresProcess([]) { try $0.copy(from: port, follows: false) }
            if way == .backup { earlier?.stop() }
        }
    }

    func fail() throws {
        switch way {
        case .backup: server.kill()
        case .dump: try throwOut()
        case .copy: break
        }
    }

    /// Everybody is thrown out of the database, and it is kept under another name.
    private func throwOut() throws {
        try server.query(
            """
            alter database \(database) allow_connections false;
            """)
        try server.query(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                + " where datname = '\(database)'")
        try server.query("alter database \(database) rename to before")
        try server.query("alter database before allow_connections true")
    }

    func successor() throws -> LogServer? {
        let server = way == .copy ? earlier ?? self.server : self.server
        let url = server.url(database)
        if !isBack { try goBack(url) }
        isBack = true
        return LogServer(server, url)
    }

    private func goBack(_ url: String) throws {
        switch way {
        case .backup:
            let old = try PostgresProcess(leftBy: server)
            left = LogServer(old, old.url(database))
            guard let earlier else { return }
            try server.replaceFiles(by: earlier)
            try server.restart()
        case .dump:
            left = LogServer(server, server.url("before"))
            try server.query("create database \(database)")
            try server.run("pg_restore", ["--single-transaction", "--dbname", url, dump])
        case .copy:
            left = LogServer(server, self.url)
            // A gateway that reads it meanwhile finds the one or the other.
            try Data(url.utf8).write(to: URL(filePath: file), options: .atomic)
        }
    }

    func leftover() throws -> LogServer {
        guard let left else { throw TestFailure("nobody has gone back yet") }
        return left
    }

    func hold() {}

    /// Nobody comes back to the others.
    func heal() {}
    func isHealed() -> Bool { true }
}
