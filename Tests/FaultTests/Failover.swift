import Glibc
import TestSupport

/// The ways in which a master ends and another server takes its place. Each of them loses what the
/// old one acknowledged at last, since that is copied afterwards, or was not copied.
enum Failover: String, CaseIterable, Sendable {
    case killed = "Sentinel: master killed"
    case cutOff = "Sentinel: master cut off but alive"
    case killedOverTLS = "Sentinel over TLS: master killed"
    case nodeKilled = "Cluster: master killed"
    case primaryKilled = "Postgres: standby promoted, primary killed"
    case primaryGoesOn = "Postgres: standby promoted, primary goes on answering"

    case backupRestored = "Postgres: an earlier backup restored"
    case dumpRestored = "Postgres: an earlier dump restored"
    case copyTaken = "Postgres: led to an earlier copy, the first goes on answering"

    /// The old master goes on answering those who ask it.
    var isBeside: Bool { self == .cutOff || self == .primaryGoesOn || self == .copyTaken }

    /// - Throws: `TestFailure` where the servers don't come up.
    func servers() throws -> any FailingServers {
        switch self {
        case .killed: try SentinelFailover(kills: true)
        case .cutOff: try SentinelFailover(kills: false)
        case .killedOverTLS: try SentinelFailoverOverTLS()
        case .nodeKilled: try ClusterFailover()
        case .primaryKilled: try PostgresFailover(kills: true)
        case .primaryGoesOn: try PostgresFailover(kills: false)
        case .backupRestored: try PostgresReturn(.backup)
        case .dumpRestored: try PostgresReturn(.dump)
        case .copyTaken: try PostgresReturn(.copy)
        }
    }
}

/// What a server has, read past the gateways.
struct LogServer {
    /// Settings of a gateway that lead to it alone.
    let settings: [String: String]
    /// The marks of a conversation's log, one for each change. A copy has a prefix of them.
    let marks: (_ conversation: String) throws -> [ArraySlice<UInt8>]

    init(_ redis: RedisProcess) {
        settings = ["upstream.redis.url": redis.url]
        marks = { conversation in
            let bytes = try redis.ask("GET", "gapless:{\(conversation)}:marks").bytes ?? []
            return stride(from: 0, to: bytes.count, by: 8).map {
                bytes[$0..<min($0 + 8, bytes.count)]
            }
        }
    }

    /// - Parameter url: of the database.
    init(_ server: PostgresProcess, _ url: String) {
        settings = ["upstream.kind": "postgres", "upstream.postgres.url": url]
        marks = { conversation in
            let text = try server.query(
                "select mark from gapless.changes where conversation = '\(conversation)'"
                    + " order by rev", in: url)
            return text.split(separator: "\n").map { Array($0.utf8)[...] }
        }
    }
}

/// Servers that are an origin together, of which one will fail.
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
    /// Whether the servers find a successor by themselves; otherwise the test makes one when it
    /// first asks for it.
    var isElecting: Bool { get }
    /// The server that has taken its place, nil while there is none.
    func successor() throws -> LogServer?
    /// A server that has what the old master had at its end.
    func leftover() throws -> LogServer
    /// From here on nobody else takes the place, however slow the machine is; asked for often.
    func hold() throws
    /// The old master comes back to the others.
    func heal() throws
    /// Whether the old master has come back as a replica.
    func isHealed() -> Bool
}

extension FailingServers {
    var isElecting: Bool { true }
}

extension RedisProcess {
    /// Whether it follows another one, and has all that this has.
    fileprivate var isReplica: Bool {
        let info = try? info("replication")
        return info?["role"] == "slave" && info?["master_link_status"] == "up"
    }
}

/// A master with two replicas, and three sentinels that reach the master, as the replicas do, by a
/// way that can be cut for them and stay open for the gateways.
final class SentinelFailover: FailingServers {
    private static let user = ["--user", "gateway", "on", ">secret", "~*", "&*", "+@all"]

    private let servers: RedisSentinels
    private let way: TCPProxy
    private let kills: Bool
    /// Milliseconds of silence after which the sentinels take a master for dead.
    private var patience = longPatience
    private static let longPatience = 60_000

    let groups = [["c0", "c1", "c2", "c3"]]
    let quiet = "quiet"

    init(kills: Bool) throws {
        self.kills = kills
        var ways: [TCPProxy] = []
        servers = try RedisSentinels(
            Self.user, replicas: 2, keeping: .written, patience: Self.longPatience
        ) { master in
            ways.append(try TCPProxy(to: master.port, letting: "gateway"))
            return ways[0].port
        }
        way = ways[0]
    }

    deinit { way.close() }

    func hold() throws { try setPatience(Self.longPatience) }

    private func setPatience(_ milliseconds: Int) throws {
        guard patience != milliseconds else { return }
        patience = milliseconds
        try servers.setPatience(milliseconds)
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
        try setPatience(1000)
        way.set(.parted)
    }

    func fail() {
        // One that is cut off fails by the others' word, some time after it was cut off.
        if kills { servers.master.kill() }
    }

    func successor() throws -> LogServer? {
        guard let promoted = try servers.promoted() else { return nil }
        return try promoted.info("replication")["role"] == "master" ? LogServer(promoted) : nil
    }

    func leftover() throws -> LogServer {
        LogServer(kills ? try RedisProcess(leftBy: servers.master) : servers.master)
    }

    func isHealed() -> Bool { servers.master.isReplica }

    func heal() throws {
        if kills { try servers.master.restart() }
        way.set(.open)
    }
}

/// The same with TLS on every way, where nobody can tell who passes by what is said: the replicas
/// stand still while the master goes on, and it is killed.
final class SentinelFailoverOverTLS: FailingServers {
    private let certificates: Certificates
    private let servers: RedisSentinels
    private var patience = longPatience
    private static let longPatience = 60_000

    let groups = [["c0", "c1", "c2", "c3"]]
    let quiet = "quiet"

    init() throws {
        certificates = try Certificates()
        servers = try RedisSentinels(
            replicas: 2, keeping: .written, patience: Self.longPatience, tls: certificates)
    }

    deinit { for replica in servers.replicas { replica.send(SIGCONT) } }

    func hold() throws { try setPatience(Self.longPatience) }

    private func setPatience(_ milliseconds: Int) throws {
        guard patience != milliseconds else { return }
        patience = milliseconds
        try servers.setPatience(milliseconds)
    }

    var settings: [String: String] {
        certificates.settings(of: "127.0.0.1:1").merging([
            "upstream.redis.sentinels":
                servers.sentinelPorts.map { "127.0.0.1:\($0)" }.joined(separator: ","),
            "upstream.redis.master": "mymaster",
        ]) { $1 }
    }

    func beginLosing() throws {
        // Stopped, they can't connect again.
        for replica in servers.replicas { replica.send(SIGSTOP) }
        try servers.master.ask("CLIENT", "KILL", "TYPE", "replica")
    }

    func fail() throws {
        servers.master.kill()
        for replica in servers.replicas { replica.send(SIGCONT) }
        try setPatience(1000)
    }

    func successor() throws -> LogServer? {
        guard let promoted = try servers.promoted() else { return nil }
        return try promoted.info("replication")["role"] == "master" ? LogServer(promoted) : nil
    }

    func leftover() throws -> LogServer {
        LogServer(try RedisProcess(leftBy: servers.master))
    }

    func isHealed() -> Bool { servers.master.isReplica }

    func heal() throws { try servers.master.restart() }
}

/// Three masters with a replica each, of which the first fails.
final class ClusterFailover: FailingServers {
    private let servers: RedisClusterServers
    private var patience = ""

    let groups: [[String]]
    let quiet: String

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
        guard patience != milliseconds else { return }
        patience = milliseconds
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

    func successor() throws -> LogServer? {
        let replica = servers.replicas[0]
        return try replica.info("replication")["role"] == "master" ? LogServer(replica) : nil
    }

    func leftover() throws -> LogServer {
        LogServer(try RedisProcess(leftBy: servers.masters[0]))
    }

    func isHealed() -> Bool { servers.masters[0].isReplica }

    func heal() throws { try servers.masters[0].restart() }
}

extension RedisSentinels {
    /// After so many milliseconds of silence a sentinel takes the master for dead from now on.
    fileprivate func setPatience(_ milliseconds: Int) throws {
        for sentinel in sentinels {
            try sentinel.ask(
                "SENTINEL", "SET", "mymaster", "down-after-milliseconds", "\(milliseconds)")
        }
    }
}
