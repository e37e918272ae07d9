import Foundation
import TestSupport

/// An origin that tells by its own account what one of its gateways reads of it, and the way of
/// that gateway, which can fail.
protocol CountedOrigin: AnyObject {
    var proxy: TCPProxy { get }
    /// Of the gateway whose reads are counted, which goes by way of the proxy.
    var countedSettings: [String: String] { get }
    /// Of a gateway whose link stays.
    var directSettings: [String: String] { get }
    /// Learns to tell reads apart, before anything is counted.
    func prepare(_ gateway: GatewayProcess) throws
    /// What was read since this was last asked.
    func takeReads() throws -> CountedReads
}

/// What a gateway has read.
struct CountedReads {
    /// Pages and changes, by what stands for a conversation.
    var fetches: [String: Int] = [:]
    /// What the feed has read by itself, where it only rings.
    var chains = 0
    /// The commands or statements that all this came in.
    var commands = 0
}

/// Tells of scripts by `MONITOR`.
final class CountedRedis: CountedOrigin {
    private let redis: RedisProcess
    private let monitor: RedisMonitor
    private var digests: Set<String> = []
    let proxy: TCPProxy

    init() throws {
        redis = try RedisProcess()
        proxy = try TCPProxy(to: redis.port)
        monitor = try RedisMonitor(redis)
    }

    deinit { proxy.close() }

    var countedSettings: [String: String] {
        ["upstream.redis.url": "redis://127.0.0.1:\(proxy.port)/0"]
    }

    var directSettings: [String: String] { ["upstream.redis.url": redis.url] }

    /// Finds the scripts that read a range and the changes since, by asking for both once.
    func prepare(_ gateway: GatewayProcess) throws {
        let api = gateway.api()
        try api.put("asked", [:])
        _ = try monitor.takeRuns()
        for question in ["messages?limit=1", "changes?since=0&limit=1"] {
            try api.call("GET", "/v1/conversations/asked/\(question)")
            let runs = try monitor.takeRuns().filter { $0.key.contains("{asked}") }
            guard runs.count == 1 else { throw TestFailure("\(question): \(runs)") }
            digests.insert(runs[0].digest)
        }
    }

    func takeReads() throws -> CountedReads {
        let runs = try monitor.takeRuns().filter { digests.contains($0.digest) }
        return CountedReads(
            fetches: Dictionary(grouping: runs, by: \.key).mapValues(\.count),
            commands: runs.count)
    }
}

/// Logs each statement of the role that the gateway has, with its parameters.
final class CountedPostgres: CountedOrigin {
    private let server: PostgresProcess
    private let database: String
    private var read = 0
    let proxy: TCPProxy

    init() throws {
        server = try PostgresProcess()
        let url = try server.database()
        database = String(url.split(separator: "/").last ?? "")
        proxy = try TCPProxy(to: server.port)
        for role in ["counted", "direct"] {
            try server.query("create role \(role) login in role gapless_gateway", in: url)
        }
        try server.query("alter role counted set log_statement = 'all'", in: url)
    }

    deinit { proxy.close() }

    var countedSettings: [String: String] {
        let url = server.url(database, user: "counted")
        return settings(url.replacing(":\(server.port)/", with: ":\(proxy.port)/"))
    }

    var directSettings: [String: String] { settings(server.url(database, user: "direct")) }

    private func settings(_ url: String) -> [String: String] {
        ["upstream.kind": "postgres", "upstream.postgres.url": url]
    }

    func prepare(_ gateway: GatewayProcess) {}

    /// The server has written of a statement before it answers.
    func takeReads() throws -> CountedReads {
        let lines = try String(contentsOfFile: server.log, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).dropFirst(read)
        read += lines.count - 1
        var reads = CountedReads()
        for line in lines where line.contains("parameters: $1 = '[{\"q\":") {
            reads.commands += 1
            for question in line.components(separatedBy: "{\"q\":\"").dropFirst() {
                // page","c":"c7", and so on
                let words = question.split(separator: "\"", maxSplits: 5)
                guard words.count > 4 else { continue }
                switch words[0] {
                case "page", "changes": reads.fetches[String(words[4]), default: 0] += 1
                case "chain": reads.chains += 1
                default: continue
                }
            }
        }
        return reads
    }
}
