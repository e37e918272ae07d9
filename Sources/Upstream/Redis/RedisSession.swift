import Crypto

/// Which data a connection speaks to: the process, the history that it replicates, and a random id
/// that lies beside the data and goes with it. Two connections with the same identity see one log.
struct RedisIdentity: Sendable, Hashable {
    var process: String
    var replication: String
    /// The key of the random id, and the id; empty where it can't be read.
    var key: String
    var origin: String
}

/// A connection that is ready to be used: the server is new enough and a master, it knows us, and
/// we know which one it is. Made and used on the thread of its link.
struct RedisSession {
    /// Sharded publish and multi-section `INFO` came with this one.
    static let oldest = 7

    let connection: RedisConnection
    let identity: RedisIdentity
    let digests: [RedisScript: [UInt8]]
    /// What the server says of its memory and its keys.
    let info: RedisInfo

    /// - Parameters:
    ///   - origin: the name of the key of the random id.
    ///   - scripts: those that will be run here.
    /// - Throws: `RedisError`: whatever keeps the server from being of use.
    init(
        _ options: RedisOptions, at address: RedisOptions.Address, origin key: String,
        scripts: [RedisScript]
    ) throws(RedisError) {
        let deadline = ContinuousClock.now + options.deadline
        let connection = try RedisConnection(address, options)
        self.connection = connection
        func ask(_ commands: [RedisCommand]) throws(RedisError) -> [RedisReply] {
            let replies = try connection.exchange(commands, until: deadline)
            for reply in replies { try Self.check(reply, address) }
            return replies
        }
        if let login = try options.login() { _ = try ask([login]) }
        // Before anything that an old server would take for a mistake.
        let server = RedisInfo(try ask([.words("INFO", "server")])[0])
        guard let version = server["redis_version"], let major = Int(version.prefix { $0 != "." }),
            major >= Self.oldest
        else {
            throw RedisError(
                .tooOld, doing: "use", on: "\(address)",
                seen: "Redis \(server["redis_version"] ?? "of an unknown version")",
                detail: "needed: \(Self.oldest) or newer")
        }
        try Self.checkMode(server, options, address)
        let origin = Array("\(options.prefix)\(key)".utf8)
        let chosen = try ask([
            .words("SELECT", "\(options.database)"),
            .words("INFO", "replication", "memory", "keyspace"),
        ])
        info = RedisInfo(chosen[1])
        guard info["role"] == "master" else {
            throw RedisError(
                .notMaster, doing: "use", on: "\(address)", seen: "a replica",
                detail: "needed: the master")
        }
        let replies = try ask(
            [
                .words([Array("SET".utf8), origin, Array(Random.hex(16).utf8), Array("NX".utf8)]),
                .words([Array("GET".utf8), origin]),
            ] + scripts.map { .words("SCRIPT", "LOAD", $0.text) })
        identity = RedisIdentity(
            process: server["run_id"] ?? "", replication: info["master_replid"] ?? "",
            key: key, origin: replies[1].string ?? "")
        var digests: [RedisScript: [UInt8]] = [:]
        for (script, reply) in zip(scripts, replies.dropFirst(2)) { digests[script] = reply.bytes }
        self.digests = digests
    }

    /// A node of a cluster has but a part of the keys, and says so only when asked for another.
    private static func checkMode(
        _ server: RedisInfo, _ options: RedisOptions, _ address: RedisOptions.Address
    ) throws(RedisError) {
        guard server["redis_mode"] == "cluster", !options.isCluster else { return }
        throw RedisError(
            .refused, doing: "use", on: "\(address)", seen: "a node of a cluster",
            detail: "upstream.redis.cluster")
    }

    /// - Throws: `RedisError`, if the reply is an error that makes the server of no use.
    static func check(
        _ reply: RedisReply, _ address: RedisOptions.Address
    ) throws(RedisError) {
        guard let code = reply.errorCode else { return }
        switch code {
        case "WRONGPASS", "NOAUTH", "NOPERM":
            throw RedisError(
                .credentials, doing: "log in to", on: "\(address)", reply)
        case "READONLY":
            throw RedisError(
                .notMaster, doing: "use", on: "\(address)", seen: "a replica", detail: code)
        case "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN":
            throw RedisError(.busy, doing: "use", on: "\(address)", reply)
        case "OOM", "MISCONF", "NOREPLICAS":
            // It can't be written, which is no reason not to read it.
            return
        case "MOVED", "ASK", "TRYAGAIN":
            // The slot is on its way to another node; the rest is here.
            return
        default:
            throw RedisError(.refused, doing: "use", on: "\(address)", reply)
        }
    }
}

/// The lines `name:value` of `INFO`.
struct RedisInfo {
    private var values: [Substring: Substring] = [:]

    init(_ reply: RedisReply) {
        // A line ends in CR LF, which Swift takes for one character.
        for line in (reply.string ?? "").split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = line[line.index(after: colon)...]
        }
    }

    subscript(name: Substring) -> String? { values[name].map(String.init) }
}
