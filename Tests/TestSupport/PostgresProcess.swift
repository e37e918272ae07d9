import Foundation
import Glibc
import Synchronization

/// A real Postgres server that a test starts, kills, stops and asks: on a socket in a directory of
/// its own, and on a port of the loopback that it keeps over restarts. It runs as `postgres` where
/// the tests run as root, which Postgres refuses to be. Ended with the test.
// Safety: a suite touches its server on one thread; the shared one is only asked for its address.
package final class PostgresProcess: @unchecked Sendable {
    /// Where Debian puts the programs.
    package static let programs = "/usr/lib/postgresql/15/bin"

    package let port: Int
    package let directory: String
    private let settings: [String]
    private let launcher: [String]
    private var child: ChildProcess?
    /// Whether the database with the schema is there, from which the others are copied.
    private let template = Mutex(false)
    private static let databases = Atomic<Int>(0)

    /// Whether this process may be somebody else.
    private static var isRoot: Bool { getuid() == 0 }

    /// One server for all suites of this process, a database each: nothing that it acknowledges
    /// outlives the machine, which no suite looks at. Those that hurt a server start one.
    package static func shared() throws -> PostgresProcess {
        try common.withLock { server in
            if let server { return server }
            let made = try PostgresProcess(["max_prepared_transactions=20"])
            // A server that is killed leaves shared memory behind; this one is asked to end.
            atexit { PostgresProcess.common.withLock { $0?.stop(SIGQUIT) } }
            server = made
            return made
        }
    }

    private static let common = Mutex<PostgresProcess?>(nil)

    /// A new database of the shared server, with the schema of the logs in it.
    /// - Returns: Its URL.
    /// - Throws: `TestFailure` where it can't be made.
    package static func sharedDatabase() throws -> String { try shared().database() }

    /// A server with an empty cluster.
    /// - Parameters:
    ///   - settings: `name=value` each.
    ///   - launcher: what the server is started by, as the disk's that it is to be on.
    /// - Throws: `TestFailure` where it does not come up.
    package convenience init(_ settings: [String] = [], launcher: [String] = []) throws {
        try self.init(settings, launcher: launcher) { server in
            try server.run(
                "initdb",
                [
                    "--pgdata", server.data, "--auth", "trust", "--encoding", "UTF8", "--locale",
                    "C.UTF-8", "--username", "postgres", "--no-sync",
                ])
        }
    }

    /// A server over a directory that something else fills: a copy, or a standby.
    /// - Parameter fill: makes the directory `data`, which is not there yet.
    /// - Throws: `TestFailure` where it does not come up.
    package init(
        _ settings: [String], launcher: [String] = [], fill: (PostgresProcess) throws -> Void
    ) throws {
        self.launcher = launcher
        let root = FileManager.default.temporaryDirectory.path
        directory = root + "/pg-\(UUID().uuidString.prefix(8))"
        port = try Port.free()
        // No test fails the machine, so nothing need be synced.
        self.settings = ["fsync=off", "max_connections=300"] + settings
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        if Self.isRoot, let user = getpwnam("postgres") {
            chown(directory, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        try fill(self)
        try start()
    }

    /// A server of its own that has what a killed one left in its files.
    /// - Throws: `TestFailure` where it does not come up.
    package convenience init(leftBy other: PostgresProcess) throws {
        try self.init(other.settings) {
            try $0.runOther("/bin/cp", ["--archive", other.data, $0.data])
        }
    }

    /// Fills the directory of the cluster with a copy of a server that runs; what was there goes.
    /// - Parameters:
    ///   - port: where that one listens, on the loopback.
    ///   - follows: whether it is to follow that one when it is started.
    /// - Throws: `TestFailure` with what `pg_basebackup` says, step by step.
    package func copy(from port: Int, follows: Bool) throws {
        try? FileManager.default.removeItem(atPath: data)
        try run(
            "pg_basebackup",
            [
                "--pgdata", data, "--checkpoint", "fast", "--no-sync", "--wal-method", "fetch",
                "--verbose", "--dbname", "host=127.0.0.1 port=\(port) user=postgres",
            ] + (follows ? ["--write-recovery-conf"] : []))
    }

    /// Puts the files of another one, which has ended, in the place of its own; it has ended too.
    /// - Throws: `TestFailure`
    package func replaceFiles(by other: PostgresProcess) throws {
        try FileManager.default.removeItem(atPath: data)
        try runOther("/bin/cp", ["--archive", other.data, data])
    }

    deinit {
        stop(SIGQUIT)
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The directory of the cluster.
    package var data: String { directory + "/data" }

    /// As libpq takes it, over the loopback.
    package func url(_ database: String = "postgres", user: String = "postgres") -> String {
        "postgresql://\(user)@127.0.0.1:\(port)/\(database)"
    }

    /// To the first process of the server.
    package func send(_ signal: Int32) { child?.send(signal) }

    /// To every process of the server, as a machine that stands still.
    package func sendToAll(_ signal: Int32) {
        for process in others() { Glibc.kill(process, signal) }
        child?.send(signal)
    }

    /// Ends all of its processes at once, as a crash does.
    package func kill() {
        for process in others() { Glibc.kill(process, SIGKILL) }
        child?.kill()
    }

    private func others() -> [pid_t] {
        guard let parent = child?.processID else { return [] }
        let path = "/proc/\(parent)/task/\(parent)/children"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    /// Ends it by a signal of its own: SIGTERM waits for clients, SIGINT does not, SIGQUIT is a
    /// crash in order.
    package func stop(_ signal: Int32 = SIGINT) {
        send(signal)
        _ = Deadline.after(.seconds(10)).poll { child?.exitStatus != nil }
        child?.kill()
    }

    /// Starts it again, after a crash if it runs, on the same port and the same files.
    /// - Throws: `TestFailure` where it does not come up.
    package func restart() throws {
        kill()
        try start()
    }

    private func start() throws {
        // Who was killed leaves its name behind, which keeps a new one from starting.
        try? FileManager.default.removeItem(atPath: data + "/postmaster.pid")
        var words = [
            "-D", data, "-k", directory, "-c", "listen_addresses=127.0.0.1", "-c", "port=\(port)",
        ]
        for setting in settings { words += ["-c", setting] }
        let (program, leading) = Self.command(Self.programs + "/postgres")
        let all = launcher + [program] + leading + words
        // Looks a command up where the shell would.
        let child = try ChildProcess("/usr/bin/env", all, log: log)
        self.child = child
        let isReady = Deadline.standard.poll {
            child.exitStatus != nil
                || (try? run("pg_isready", ["--host", directory, "--port", "\(port)"])) != nil
        }
        guard isReady, child.exitStatus == nil else {
            throw TestFailure("postgres: not ready on port \(port); see \(log)")
        }
    }

    /// The file that it writes its log to.
    package var log: String { directory + "/log" }

    /// What runs one of Postgres's programs as somebody who may.
    private static func command(_ path: String) -> (program: String, arguments: [String]) {
        guard isRoot else { return (path, []) }
        let user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        return ("/usr/bin/setpriv", user + ["--", path])
    }

    /// Runs one of Postgres's programs to its end.
    /// - Returns: What it said, without the last line end.
    /// - Throws: `TestFailure` with what it said, unless it ended with 0.
    @discardableResult
    package func run(_ name: String, _ arguments: [String]) throws -> String {
        try runOther(Self.programs + "/" + name, arguments)
    }

    @discardableResult
    private func runOther(_ path: String, _ arguments: [String]) throws -> String {
        let output = directory + "/run-\(UUID().uuidString.prefix(8))"
        let (program, leading) = Self.command(path)
        let child = try ChildProcess(program, leading + arguments, log: output)
        let isDone = Deadline.after(.seconds(60)).poll { child.exitStatus != nil }
        let said = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        try? FileManager.default.removeItem(atPath: output)
        guard isDone, child.exitStatus == 0 else { throw TestFailure("\(path): \(said)") }
        return said.split(separator: "\n").joined(separator: "\n")
    }

    // MARK: asking

    /// What the statements answer, without headers, a row a line, columns parted by `|`.
    /// - Parameter database: its URL; nil: that of the server itself.
    /// - Throws: `TestFailure` with what the server says.
    @discardableResult
    package func query(_ text: String, in database: String? = nil) throws -> String {
        try run(
            "psql",
            [
                "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set",
                "ON_ERROR_STOP=1", "--command", text, database ?? url(),
            ])
    }

    /// Makes an empty database.
    /// - Returns: The name.
    /// - Throws: `TestFailure`
    package func makeDatabase(template: String = "template0") throws -> String {
        let name = "d\(getpid())_\(Self.databases.add(1, ordering: .relaxed).oldValue)"
        try query("create database \(name) template \(template)")
        return name
    }

    /// A new database with the schema of the logs in it.
    /// - Returns: Its URL.
    /// - Throws: `TestFailure` where it can't be made.
    package func database() throws -> String {
        try template.withLock { hasTemplate in
            if !hasTemplate { try makeTemplate() }
            hasTemplate = true
        }
        return url(try makeDatabase(template: "gapless_template"))
    }

    private func makeTemplate() throws {
        try query("create database gapless_template")
        let schema = directory + "/schema.sql"
        let child = try ChildProcess(
            try GatewayProcess.binary(), ["postgres", "schema"], log: schema)
        _ = Deadline.standard.poll { child.exitStatus != nil }
        chmod(schema, 0o644)
        try run(
            "psql",
            [
                "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", schema,
                url("gapless_template"),
            ])
    }
}
