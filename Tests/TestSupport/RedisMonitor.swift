/// What a Redis server is asked, by its own account (`MONITOR`): it tells of every command, and so
/// of those of a gateway, apart from what the gateway counts itself.
package final class RedisMonitor {
    /// A script that was run.
    package struct Run: Sendable, Hashable {
        package let digest: String
        /// The first of its keys.
        package let key: String
    }

    private let server: RedisProcess
    private let socket: TCPSocket
    private var received: [UInt8] = []
    private var fences = 0

    /// Tells from now on.
    ///
    /// - Throws: `TestFailure` where the server does not answer.
    package init(_ server: RedisProcess) throws {
        self.server = server
        socket = try TCPSocket(port: server.port)
        try socket.write(Array("MONITOR\r\n".utf8))
        try receive { $0.starts(with: Array("+OK".utf8)) }
        received = []
    }

    /// The scripts that were run since this was last asked.
    ///
    /// - Throws: `TestFailure` where the server does not answer.
    package func takeRuns() throws -> [Run] {
        fences += 1
        // What was asked before this is told before it.
        try server.ask("ECHO", "fence-\(fences)")
        let fence = Array("\"fence-\(fences)\"".utf8)
        var searched = 0
        try receive { bytes in
            defer { searched = max(0, bytes.count - fence.count) }
            // Gateways go on asking: it need not be the last that is told.
            return bytes[searched...].firstRange(of: fence) != nil
        }
        defer { received = [] }
        // +time [db address] "command" "digest" "number of keys" "key"…; what a script itself does
        // has `lua` for an address.
        return received.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = line.prefix(400).split(separator: UInt8(ascii: " ")).prefix(7)
                .map { String(decoding: $0, as: UTF8.self) }
            guard words.count == 7, words[3].lowercased() == "\"evalsha\"", words[2] != "lua]"
            else { return nil }
            return Run(digest: words[4], key: words[6])
        }
    }

    private func receive(until isEnough: ([UInt8]) -> Bool) throws {
        while !isEnough(received) {
            guard socket.waitToRead(.standard), !socket.isAtEnd else {
                throw TestFailure("MONITOR tells nothing")
            }
            received += socket.readAvailable()
        }
    }
}
