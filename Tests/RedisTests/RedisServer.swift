import FoundationEssentials
import Glibc
import TestSupport

@testable import Upstream

/// A real Redis server (or sentinel) of a test, on a free port of the loopback, killed with the
/// test. Debian's packages hold one program that is what its name says; linked under its names in a
/// directory of the test's own, no daemon needs to be installed.
final class RedisServer {
    static let program = "/usr/bin/redis-check-rdb"

    /// Another test may take a port between our looking and the server's.
    private static let portTries = 5

    private(set) var port = 0
    /// Where a node of a cluster talks to the others.
    private(set) var busPort = 0
    let directory: String
    /// The words for a port, and what the configuration file is to hold, if there is one.
    private let words: (Int) -> (name: String, arguments: [String], file: String?)
    private(set) var process: ChildProcess

    var address: RedisOptions.Address { .init(host: "127.0.0.1", port: port) }

    /// - Parameter port: nil for a free one.
    convenience init(_ arguments: [String] = [], at port: Int? = nil) throws {
        try self.init(at: port) { port in
            let base = ["--port", "\(port)", "--bind", "127.0.0.1", "--save", ""]
            let more = ["--repl-diskless-sync-delay", "0"]
            return ("redis-server", base + more + arguments, nil)
        }
    }

    /// A sentinel that watches what is at a port under the name `mymaster`.
    convenience init(watching watched: Int, quorum: Int) throws {
        try self.init { port in
            let file = """
                port \(port)
                bind 127.0.0.1
                sentinel monitor mymaster 127.0.0.1 \(watched) \(quorum)
                sentinel down-after-milliseconds mymaster 1000
                sentinel failover-timeout mymaster 3000
                """
            return ("redis-sentinel", [], file)
        }
    }

    /// A node that may join a cluster.
    static func node() throws -> RedisServer {
        // The usual one, 10,000 above, lies among those of outgoing connections.
        let bus = try Port.free()
        let server = try RedisServer([
            "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-node-timeout",
            "2000", "--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor",
            "0",
        ])
        server.busPort = bus
        return server
    }

    private init(
        at fixed: Int? = nil,
        _ words: @escaping (Int) -> (name: String, arguments: [String], file: String?)
    ) throws {
        directory = try Self.scratch()
        self.words = words
        port = try fixed ?? Port.free()
        process = try Self.spawn(directory, words(port))
        for _ in 1...Self.portTries {
            if waitUntilReady() { return }
            process.kill()
            try? FileManager.default.removeItem(atPath: directory + "/configuration")
            port = try Port.free()
            process = try Self.spawn(directory, words(port))
        }
        throw TestFailure("redis-server: not ready on \(Self.portTries) ports")
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func scratch() throws -> String {
        let directory = FileManager.default.temporaryDirectory.path + "/gapless-redis-\(UUID())"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        for name in ["redis-server", "redis-sentinel"] {
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/" + name, withDestinationPath: program)
        }
        return directory
    }

    private static func spawn(
        _ directory: String, _ words: (name: String, arguments: [String], file: String?)
    ) throws -> ChildProcess {
        var arguments = words.arguments
        if let text = words.file {
            let file = directory + "/configuration"
            // The server writes what it learns into it, which a new start finds again.
            if !FileManager.default.fileExists(atPath: file) {
                try Data("dir \(directory)\n\(text)\n".utf8).write(to: URL(filePath: file))
            }
            arguments = [file]
        } else {
            arguments += ["--dir", directory]
        }
        return try ChildProcess(
            directory + "/" + words.name, arguments, log: directory + "/log")
    }

    /// Starts it again on the same port; what it had not written to its file is gone.
    func restart() throws {
        process.kill()
        process = try Self.spawn(directory, words(port))
        if !waitUntilReady() { throw TestFailure("redis-server: not ready again") }
    }

    /// Waits until this process, and no other that took the port, answers.
    private func waitUntilReady() -> Bool {
        var isReady = false
        _ = Deadline.standard.poll {
            if process.exitStatus != nil { return true }
            let info = (try? ask("INFO", "server")).map { RedisInfo($0) }
            isReady = info?["process_id"] == "\(process.processID)"
            return isReady
        }
        return isReady
    }

    /// One command through a connection of its own.
    @discardableResult
    func ask(_ words: String...) throws -> RedisReply { try ask(words) }

    @discardableResult
    func ask(_ words: [String]) throws -> RedisReply {
        let connection = try RedisConnection(address, timeout: .seconds(5))
        let command = RedisCommand.words(words.map { Array($0.utf8) })
        return try connection.exchange([command], until: .now + .seconds(5))[0]
    }

    func options(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> RedisOptions {
        var options = try RedisOptions(url: "redis://127.0.0.1:\(port)/0")
        options.backoffBase = .milliseconds(20)
        options.backoffMax = .milliseconds(200)
        change(&options)
        return options
    }
}
