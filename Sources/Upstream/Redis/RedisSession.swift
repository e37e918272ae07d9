import Crypto

/// The identity of a server's data: the process, its replication history, and a random id stored
/// beside the data. Two connections with the same identity see one log.
struct RedisIdentity: Sendable, Hashable {
    var process: String
    var replication: String
    /// The key of the random id, and the id; empty if it can't be read.
    var key: String
    var origin: String
}

/// A connection that is ready for use: the server is new enough and a master, we are logged in, and
/// its identity is known. Made and used on the thread of its link.
struct RedisSession {
    /// The oldest major version: the first with sharded publish and multi-section `INFO`.
    static let oldest = 7

    let connection: RedisConnection
    let identity: RedisIdentity
    let digests: [RedisScript: [UInt8]]
    /// The server's `INFO` on memory, keys and what is on its disk.
    let info: RedisInfo

    /// - Parameters:
    ///   - origin: the name of the key of the random id.
    ///   - scripts: the scripts to load.
    /// - Throws: `RedisError`, if the server can't be used.
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
        if let login = try options.login.command() { _ = try ask([login]) }
        // First, before commands that an old server does not know.
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
            .words("INFO", "replication", "memory", "keyspace", "persistence"),
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

    /// A cluster node has only part of the keys, and says so only when asked for another's.
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
            // It refuses writes, but can be read.
            return
        case "MOVED", "ASK", "TRYAGAIN":
            // The slot is migrating; the other slots are here.
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
        // CR LF is one `Character` in Swift.
        for line in (reply.string ?? "").split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = line[line.index(after: colon)...]
        }
    }

    subscript(name: Substring) -> String? { values[name].map(String.init) }
}
