import Glibc
import TestSupport

/// The ways in which a master ends and another server takes its place. Each of them loses what the
/// old one acknowledged at last, since Redis copies it afterwards.
enum Failover: String, CaseIterable, Sendable {
    case killed = "Sentinel: master killed"
    case cutOff = "Sentinel: master cut off but alive"
    case nodeKilled = "Cluster: master killed"

    /// - Throws: `TestFailure` where the servers don't come up.
    func servers() throws -> any FailingServers {
        switch self {
        case .killed: try SentinelFailover(kills: true)
        case .cutOff: try SentinelFailover(kills: false)
        case .nodeKilled: try ClusterFailover()
        }
    }
}

/// Redis servers that are an origin together, of which one will fail.
protocol FailingServers: AnyObject {
    /// Settings of a gateway that lead to them.
    var settings: [String: String] { get }
    /// The conversations of the one that fails, and of the others if there are any.
    var groups: [[String]] { get }
    var quiet: String { get }
    /// From here on nobody gets a copy of what the master acknowledges.
    func beginLosing() throws
    /// The end of the master, or of who counts it as one.
    func fail() throws
    /// The server that has taken its place, nil while there is none.
    func successor() throws -> RedisProcess?
    /// A server that has what the old master had at its end.
    func leftover() throws -> RedisProcess
    /// From here on nobody else takes the place, however slow the machine is.
    func hold() throws
    /// The old master comes back to the others.
    func heal() throws
    /// The old master, as long as it takes itself for one or is not there.
    var old: RedisProcess { get }
}

extension FailingServers {
    /// Whether the old master has come back as a replica.
    func isHealed() -> Bool {
        let info = try? old.info("replication")
        return info?["role"] == "slave" && info?["master_link_status"] == "up"
    }

    /// The marks of a log: eight bytes for each change. A replica has a prefix of them.
    ///
    /// - Throws: `TestFailure` where the server does not answer.
    func marks(of conversation: String, at server: RedisProcess) throws -> [ArraySlice<UInt8>] {
        let bytes = try server.ask("GET", "gapless:{\(conversation)}:marks").bytes ?? []
        return stride(from: 0, to: bytes.count, by: 8).map { bytes[$0..<min($0 + 8, bytes.count)] }
    }
}

/// A master with two replicas, and three sentinels that reach the master, as the replicas do, by a
/// way that can be cut for them and stay open for the gateways.
final class SentinelFailover: FailingServers {
    private static let user = ["--user", "gateway", "on", ">secret", "~*", "&*", "+@all"]

    private let servers: RedisSentinels
    private let way: TCPProxy
    private let kills: Bool

    let groups = [["c0", "c1", "c2", "c3"]]
    let quiet = "quiet"
    var old: RedisProcess { servers.master }

    init(kills: Bool) throws {
        self.kills = kills
        var ways: [TCPProxy] = []
        servers = try RedisSentinels(Self.user, replicas: 2, keeping: .written) { master in
            ways.append(try TCPProxy(to: master.port, letting: "gateway"))
            return ways[0].port
        }
        way = ways[0]
        try hold()
    }

    deinit { way.close() }

    func hold() throws { try setPatience("60000") }

    private func setPatience(_ milliseconds: String) throws {
        for sentinel in servers.sentinels {
            try sentinel.ask(
                "SENTINEL", "SET", "mymaster", "down-after-milliseconds", milliseconds)
        }
    }

    var settings: [String: String] {
        [
            "upstream.redis.url": "redis://gateway:secret@127.0.0.1:1/0",
            "upstream.redis.sentinels":
                servers.sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ","),
            "upstream.redis.master": "mymaster",
        ]
    }

    func beginLosing() throws {
        try setPatience("1000")
        way.set(.parted)
    }

    func fail() {
        // One that is cut off fails by the others' word, some time after it was cut off.
        if kills { servers.master.kill() }
    }

    func successor() throws -> RedisProcess? {
        guard let promoted = try servers.promoted() else { return nil }
        return try promoted.info("replication")["role"] == "master" ? promoted : nil
    }

    func leftover() throws -> RedisProcess {
        kills ? try RedisProcess(leftBy: servers.master) : servers.master
    }

    func heal() throws {
        if kills { try servers.master.restart() }
        way.set(.open)
    }
}

/// Three masters with a replica each, of which the first fails.
final class ClusterFailover: FailingServers {
    private let servers: RedisClusterServers

    let groups: [[String]]
    let quiet: String
    var old: RedisProcess { servers.masters[0] }

    init() throws {
        let servers = try RedisClusterServers(keeping: .written)
        self.servers = servers
        let failing = try servers.conversations(at: 0, 3)
        groups = [
            Array(failing.prefix(2)), try (1...2).map { try servers.conversations(at: $0, 1)[0] },
        ]
        quiet = failing[2]
        try hold()
    }

    func hold() throws { try setPatience("60000") }

    /// Of all who are there.
    private func setPatience(_ milliseconds: String) throws {
        for node in servers.masters.dropFirst() + servers.replicas {
            try node.ask("CONFIG", "SET", "cluster-node-timeout", milliseconds)
        }
    }

    var settings: [String: String] {
        [
            "upstream.redis.url": servers.masters[1].url, "upstream.redis.cluster": "true",
        ]
    }

    func beginLosing() throws {
        // Stopped, it can't connect again.
        servers.replicas[0].send(SIGSTOP)
        try servers.masters[0].ask("CLIENT", "KILL", "TYPE", "replica")
    }

    func fail() throws {
        servers.masters[0].kill()
        servers.replicas[0].send(SIGCONT)
        try setPatience("2000")
    }

    func successor() throws -> RedisProcess? {
        let replica = servers.replicas[0]
        return try replica.info("replication")["role"] == "master" ? replica : nil
    }

    func leftover() throws -> RedisProcess { try RedisProcess(leftBy: servers.masters[0]) }

    func heal() throws { try servers.masters[0].restart() }
}
