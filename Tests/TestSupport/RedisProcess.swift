import Foundation
import Glibc

/// A real Redis server that a test starts, kills, stops and asks, on a port of the loopback that it
/// keeps over restarts, with its files in a directory of its own. Nothing that was acknowledged is
/// lost by a kill: everything is written to the file at once.
package final class RedisProcess {
    /// Debian's packages hold one program that is what its name says; linked under the server's, no
    /// daemon needs to be installed.
    private static let program = "/usr/bin/redis-check-rdb"
    /// Another test may take a port between our looking and the server's.
    private static let portTries = 5

    package private(set) var port = 0
    private let directory: URL
    private let arguments: [String]
    private var child: ChildProcess?

    /// - Throws: `TestFailure` where it does not come up.
    package init(_ arguments: [String] = []) throws {
        let name = "gapless-redis-\(UUID().uuidString)"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        self.arguments = arguments
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: directory.appendingPathComponent("redis-server").path,
            withDestinationPath: Self.program)
        for _ in 1...Self.portTries {
            port = try Port.free()
            if try spawn() { return }
            kill()
        }
        throw TestFailure("redis-server: not ready on \(Self.portTries) ports")
    }

    deinit {
        child?.kill()
        try? FileManager.default.removeItem(at: directory)
    }

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
        let all = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--dir", directory.path,
            "--appendonly", "yes", "--appendfsync", "always",
        ]
        let child = try ChildProcess(
            directory.appendingPathComponent("redis-server").path, all + arguments,
            log: directory.appendingPathComponent("log").path)
        self.child = child
        var isReady = false
        _ = Deadline.standard.poll {
            let info = (try? ask("INFO", "server")) ?? ""
            isReady = info.contains("process_id:\(child.processID)\r\n")
            return isReady || child.exitStatus != nil
        }
        return isReady
    }

    /// One command through a connection of its own.
    ///
    /// - Returns: What it answers; of a list only how long it is.
    /// - Throws: `TestFailure` where the answer is an error, or none comes.
    @discardableResult
    package func ask(_ words: String..., password: String? = nil) throws -> String {
        let socket = try TCPSocket(port: port)
        if let password { _ = try Self.exchange(["AUTH", password], socket) }
        return try Self.exchange(words, socket)
    }

    private static func exchange(_ words: [String], _ socket: TCPSocket) throws -> String {
        let command = words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        try socket.write(Array("*\(words.count)\r\n\(command)".utf8))
        let deadline = Deadline.after(.seconds(10))
        var answer: [UInt8] = []
        while !socket.isAtEnd {
            guard socket.waitToRead(deadline) else { break }
            answer += socket.readAvailable()
            if let whole = try reply(answer) { return whole }
        }
        throw TestFailure("\(words.first ?? ""): no answer of Redis in time")
    }

    /// The reply that `bytes` begin with, nil while it is not whole.
    private static func reply(_ bytes: [UInt8]) throws -> String? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")), end > 1 else { return nil }
        let line = String(decoding: bytes[1..<(end - 1)], as: UTF8.self)
        switch bytes[0] {
        case UInt8(ascii: "$"):
            guard let length = Int(line), length >= 0 else { return "" }
            guard bytes.count >= end + 1 + length + 2 else { return nil }
            return String(decoding: bytes[(end + 1)..<(end + 1 + length)], as: UTF8.self)
        case UInt8(ascii: "-"): throw TestFailure("Redis: \(line)")
        default: return line
        }
    }
}
