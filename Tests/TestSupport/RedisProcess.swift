import Foundation
import Glibc

/// A real Redis server (or sentinel) that a test starts, kills, stops and asks, on a port of the
/// loopback that it keeps over restarts, with its files in a directory of its own; killed with the
/// test.
package final class RedisProcess {
    /// What a kill leaves.
    package enum Keeping {
        /// Nothing.
        case nothing
        /// What was acknowledged, also if the machine fails: it is written and synced at once.
        case all
        /// What was acknowledged, as long as the machine goes on: it is written at once.
        case written

        fileprivate var arguments: [String] {
            switch self {
            case .nothing: []
            case .all: ["--appendonly", "yes", "--appendfsync", "always"]
            case .written: ["--appendonly", "yes", "--appendfsync", "no"]
            }
        }
    }

    /// How it is started at a port.
    private struct Start {
        var program = "redis-server"
        var arguments: [String] = []
        /// What the configuration file is to hold, if there is one.
        var file: String?
    }

    /// Debian's packages hold one program that is what its name says; linked under its names, no
    /// daemon needs to be installed.
    private static let program = "/usr/bin/redis-check-rdb"
    /// Another test may take a port between our looking and the server's.
    private static let portTries = 5

    package private(set) var port = 0
    /// Where a node of a cluster talks to the others; 0 for all else.
    package private(set) var busPort = 0
    package let directory: String
    private let words: (Int) -> Start
    private var child: ChildProcess?

    /// A server.
    ///
    /// - Parameter port: nil for a free one.
    /// - Throws: `TestFailure` where it does not come up.
    package convenience init(
        _ arguments: [String] = [], at port: Int? = nil, keeping: Keeping = .all
    ) throws {
        try self.init(at: port, of: nil, Self.server(keeping.arguments + arguments))
    }

    /// A server of its own that has what a killed one left in its files.
    ///
    /// - Throws: `TestFailure` where it does not come up.
    package convenience init(leftBy other: RedisProcess) throws {
        try self.init(at: nil, of: other, Self.server(Keeping.written.arguments))
    }

    /// A sentinel that watches what is at a port under the name `mymaster`.
    ///
    /// - Parameters:
    ///   - patience: milliseconds of silence after which it takes the master for dead.
    ///   - lines: more of its configuration.
    /// - Throws: `TestFailure` where it does not come up.
    package convenience init(
        watching watched: Int, quorum: Int, patience: Int = 1000, lines: [String] = []
    ) throws {
        try self.init(at: nil, of: nil) { port in
            let file = """
                port \(port)
                bind 127.0.0.1
                \(lines.joined(separator: "\n"))
                sentinel monitor mymaster 127.0.0.1 \(watched) \(quorum)
                sentinel down-after-milliseconds mymaster \(patience)
                sentinel failover-timeout mymaster 3000
                """
            return Start(program: "redis-sentinel", file: file)
        }
    }

    /// A node that may join a cluster.
    ///
    /// - Throws: `TestFailure` where it does not come up.
    package static func node(
        _ arguments: [String] = [], keeping: Keeping = .nothing
    ) throws -> RedisProcess {
        // The usual one, 10,000 above, lies among those of outgoing connections.
        let bus = try Port.free()
        let node = try RedisProcess(
            [
                "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-node-timeout",
                "2000", "--cluster-require-full-coverage", "no",
                "--cluster-replica-validity-factor", "0",
            ] + arguments, keeping: keeping)
        node.busPort = bus
        return node
    }

    private static func server(_ arguments: [String]) -> (Int) -> Start {
        { port in
            let base = ["--port", "\(port)", "--bind", "127.0.0.1", "--save", ""]
            let more = ["--repl-diskless-sync-delay", "0"]
            return Start(arguments: base + more + arguments)
        }
    }

    private init(at fixed: Int?, of other: RedisProcess?, _ words: @escaping (Int) -> Start) throws
    {
        directory = FileManager.default.temporaryDirectory.path + "/gapless-redis-\(UUID())"
        self.words = words
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        for name in ["redis-server", "redis-sentinel"] {
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/" + name, withDestinationPath: Self.program)
        }
        let left = "/appendonlydir"
        if let other {
            try FileManager.default.copyItem(
                atPath: other.directory + left, toPath: directory + left)
        }
        port = try fixed ?? Port.free()
        for _ in 1...(fixed == nil ? Self.portTries : 50) {
            if try spawn() { return }
            kill()
            try? FileManager.default.removeItem(atPath: file)
            // Who had the fixed one may need a moment to let it go.
            if fixed != nil { usleep(100_000) } else { port = try Port.free() }
        }
        throw TestFailure(
            fixed.map { "redis-server: not ready on port \($0)" }
                ?? "redis-server: not ready on \(Self.portTries) ports")
    }

    deinit {
        child?.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private var file: String { directory + "/configuration" }

    package var url: String { "redis://127.0.0.1:\(port)/0" }

    package func send(_ signal: Int32) { child?.send(signal) }

    /// Sends SIGKILL, the crash.
    package func kill() { child?.kill() }

    /// Starts it again on the same port and the same files.
    ///
    /// - Throws: `TestFailure` where it does not come up.
    package func restart() throws {
        kill()
        guard try spawn() else { throw TestFailure("redis-server: not ready again") }
    }

    /// - Returns: Whether this process, and no other that took the port, answers.
    private func spawn() throws -> Bool {
        let start = words(port)
        var arguments = start.arguments
        if let text = start.file {
            // The server writes what it learns into it, which a new start finds again.
            if !FileManager.default.fileExists(atPath: file) {
                try Data("dir \(directory)\n\(text)\n".utf8).write(to: URL(filePath: file))
            }
            arguments = [file]
        } else {
            arguments += ["--dir", directory]
        }
        let child = try ChildProcess(
            directory + "/" + start.program, arguments, log: directory + "/log")
        self.child = child
        var isReady = false
        _ = Deadline.standard.poll {
            isReady = (try? info("server"))?["process_id"] == "\(child.processID)"
            return isReady || child.exitStatus != nil
        }
        return isReady
    }

    // MARK: asking

    /// One command through a connection of its own.
    ///
    /// - Throws: `TestFailure` where the answer is an error, or none comes.
    @discardableResult
    package func ask(_ words: String..., password: String? = nil) throws -> RedisValue {
        try ask(words, password: password)
    }

    /// - Throws: as above.
    @discardableResult
    package func ask(_ words: [String], password: String? = nil) throws -> RedisValue {
        let socket = try TCPSocket(port: port)
        if let password { _ = try Self.exchange(["AUTH", password], socket) }
        return try Self.exchange(words, socket)
    }

    /// The values of a section of `INFO` by their names.
    ///
    /// - Throws: as `ask`.
    package func info(_ section: String) throws -> [String: String] {
        // A line ends in CR LF, which Swift takes for one character.
        let lines = (try ask("INFO", section).string ?? "").split(whereSeparator: \.isNewline)
        let pairs = lines.compactMap { line in
            line.firstIndex(of: ":").map {
                (String(line[..<$0]), String(line[line.index(after: $0)...]))
            }
        }
        return Dictionary(pairs) { $1 }
    }

    private static func exchange(_ words: [String], _ socket: TCPSocket) throws -> RedisValue {
        let command = words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        try socket.write(Array("*\(words.count)\r\n\(command)".utf8))
        let deadline = Deadline.after(.seconds(10))
        var answer: [UInt8] = []
        while !socket.isAtEnd {
            guard socket.waitToRead(deadline) else { break }
            answer += socket.readAvailable()
            var reader = RedisValueReader(answer)
            guard let value = try reader.next() else { continue }
            if case .error(let text) = value { throw TestFailure("Redis: \(text)") }
            return value
        }
        throw TestFailure("\(words.first ?? ""): no answer of Redis in time")
    }
}
