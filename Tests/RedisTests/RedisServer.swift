import FoundationEssentials
import Glibc
import TestSupport

@testable import Upstream

/// A real Redis server (or sentinel) of a test, on a free port of the loopback, killed with the
/// test. Debian's packages hold one program that is what its name says; linked under its names in a
/// directory of the test's own, no daemon needs to be installed.
final class RedisServer {
    static let program = "/usr/bin/redis-check-rdb"

    let port: Int
    let directory: String
    private let arguments: [String]
    private let isSentinel: Bool
    private(set) var process: ChildProcess

    var address: RedisOptions.Address { .init(host: "127.0.0.1", port: port) }

    init(_ arguments: [String] = []) throws {
        port = try Port.free()
        directory = try Self.scratch()
        self.arguments = arguments
        isSentinel = false
        process = try Self.spawn(directory, "redis-server", port, arguments)
        try waitUntilReady()
    }

    /// A sentinel that watches `master` under the name `mymaster`.
    init(watching master: RedisServer, quorum: Int) throws {
        port = try Port.free()
        directory = try Self.scratch()
        arguments = []
        isSentinel = true
        let text = """
            port \(port)
            bind 127.0.0.1
            dir \(directory)
            sentinel monitor mymaster 127.0.0.1 \(master.port) \(quorum)
            sentinel down-after-milliseconds mymaster 1000
            sentinel failover-timeout mymaster 3000
            """
        let file = directory + "/sentinel.conf"
        try Data(text.utf8).write(to: URL(filePath: file))
        process = try Self.spawnSentinel(directory, file)
        try waitUntilReady()
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
        _ directory: String, _ name: String, _ port: Int, _ arguments: [String]
    ) throws -> ChildProcess {
        let base = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--dir", directory, "--save", "",
            "--repl-diskless-sync-delay", "0",
        ]
        return try ChildProcess(
            directory + "/" + name, base + arguments, log: directory + "/log")
    }

    private static func spawnSentinel(_ directory: String, _ file: String) throws -> ChildProcess {
        try ChildProcess(directory + "/redis-sentinel", [file], log: directory + "/log")
    }

    /// Starts it again on the same port; what it had not written to its file is gone.
    func restart() throws {
        process.kill()
        process =
            isSentinel
            ? try Self.spawnSentinel(directory, directory + "/sentinel.conf")
            : try Self.spawn(directory, "redis-server", port, arguments)
        try waitUntilReady()
    }

    private func waitUntilReady() throws {
        let isReady = Deadline.standard.poll { (try? ask("PING")) == .text(Array("PONG".utf8)) }
        if !isReady { throw TestFailure("redis-server: not ready on port \(port)") }
    }

    /// One command through a connection of its own.
    @discardableResult
    func ask(_ words: String...) throws -> RedisReply {
        let connection = try RedisConnection(address, timeout: .seconds(5))
        let command = RedisCommand.words(words.map { Array($0.utf8) })
        let reply = try connection.exchange([command], until: .now + .seconds(5))[0]
        if reply.errorCode == "NOAUTH" { return .text(Array("PONG".utf8)) }
        return reply
    }

    func options(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> RedisOptions {
        var options = try RedisOptions(url: "redis://127.0.0.1:\(port)/0")
        options.backoffBase = .milliseconds(20)
        options.backoffMax = .milliseconds(200)
        change(&options)
        return options
    }
}
