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
    private let arguments: [String]
    private var child: ChildProcess?

    /// Whether this process may be somebody else.
    private static var isRoot: Bool { getuid() == 0 }

    /// One server for all suites of this process, a database each: nothing that it acknowledges
    /// outlives the machine, which no suite looks at. Those that hurt a server start one.
    package static func shared() throws -> PostgresProcess {
        try common.withLock { server in
            if let server { return server }
            let made = try PostgresProcess(["fsync=off", "max_prepared_transactions=20"])
            // A server that is killed leaves shared memory behind; this one is asked to end.
            atexit { PostgresProcess.common.withLock { $0?.stop(SIGQUIT) } }
            server = made
            return made
        }
    }

    private static let common = Mutex<PostgresProcess?>(nil)

    /// A server with an empty cluster.
    /// - Parameter settings: `name=value` each.
    /// - Throws: `TestFailure` where it does not come up.
    package convenience init(_ settings: [String] = []) throws {
        try self.init(settings) { server in
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
    package init(_ settings: [String], fill: (PostgresProcess) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.path
        directory = root + "/pg-\(UUID().uuidString.prefix(8))"
        port = try Port.free()
        arguments = settings
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        if Self.isRoot, let user = getpwnam("postgres") {
            chown(directory, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        try fill(self)
        try start()
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

    package func send(_ signal: Int32) { child?.send(signal) }

    /// Sends SIGKILL to the server's first process, the crash; the others end when they notice.
    package func kill() { child?.kill() }

    /// Ends it by a signal of its own: SIGTERM waits for clients, SIGINT does not, SIGQUIT is a
    /// crash in order.
    package func stop(_ signal: Int32 = SIGINT) {
        send(signal)
        _ = Deadline.after(.seconds(10)).poll { child?.exitStatus != nil }
        child?.kill()
    }

    /// Starts it again on the same port and the same files.
    /// - Throws: `TestFailure` where it does not come up.
    package func restart() throws {
        stop()
        try start()
    }

    private func start() throws {
        // Who was killed leaves its name behind, which keeps a new one from starting.
        try? FileManager.default.removeItem(atPath: data + "/postmaster.pid")
        var words = [
            "-D", data, "-k", directory, "-c", "listen_addresses=127.0.0.1", "-c", "port=\(port)",
        ]
        for setting in arguments { words += ["-c", setting] }
        let (program, leading) = Self.command("postgres")
        let child = try ChildProcess(program, leading + words, log: log)
        self.child = child
        let isReady = Deadline.standard.poll {
            child.exitStatus != nil
                || (try? run("pg_isready", ["--host", directory, "--port", "\(port)"])) != nil
        }
        guard isReady, child.exitStatus == nil else {
            throw TestFailure("postgres: not ready on port \(port); see \(log)")
        }
    }

    private var log: String { directory + "/log" }

    /// What runs one of Postgres's programs as somebody who may.
    private static func command(_ name: String) -> (program: String, arguments: [String]) {
        let path = programs + "/" + name
        guard isRoot else { return (path, []) }
        let user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        return ("/usr/bin/setpriv", user + ["--", path])
    }

    /// Runs one of Postgres's programs to its end.
    /// - Throws: `TestFailure` with what it said, unless it ended with 0.
    package func run(_ name: String, _ arguments: [String]) throws {
        let output = directory + "/\(name)-\(UUID().uuidString.prefix(8))"
        let (program, leading) = Self.command(name)
        let child = try ChildProcess(program, leading + arguments, log: output)
        let isDone = Deadline.after(.seconds(60)).poll { child.exitStatus != nil }
        let said = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        try? FileManager.default.removeItem(atPath: output)
        guard isDone, child.exitStatus == 0 else { throw TestFailure("\(name): \(said)") }
    }

    /// Makes an empty database, whose name is not taken yet.
    /// - Returns: The name.
    /// - Throws: `TestFailure`
    package func makeDatabase(owner: String = "postgres") throws -> String {
        let name = "test_\(UUID().uuidString.prefix(8).lowercased())"
        try run(
            "createdb",
            [
                "--host", directory, "--port", "\(port)", "--username", "postgres",
                "--owner", owner, name,
            ])
        return name
    }
}
