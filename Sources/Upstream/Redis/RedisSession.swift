import Crypto

/// Which data a connection speaks to: the process, the history that it replicates, and a random id
/// that lies beside the data and goes with it. Two connections with the same identity see one log.
struct RedisIdentity: Sendable, Hashable {
    var process: String
    var replication: String
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
    /// Whether the server throws data away when its memory is full.
    let evicts: Bool

    /// - Parameter scripts: those that will be run here.
    /// - Throws: `RedisError`: whatever keeps the server from being of use.
    init(
        _ options: RedisOptions, at address: RedisOptions.Address, scripts: [RedisScript]
    ) throws(RedisError) {
        let deadline = ContinuousClock.now + options.deadline
        let connection = try RedisConnection(address, timeout: options.deadline)
        self.connection = connection
        func ask(_ commands: [RedisCommand]) throws(RedisError) -> [RedisReply] {
            let replies = try connection.exchange(commands, until: deadline)
            for reply in replies { try Self.check(reply, address) }
            return replies
        }
        if let password = options.password {
            let user = options.user.map { [$0] } ?? []
            let words = ["AUTH"] + user + [password]
            _ = try ask([.words(words.map { Array($0.utf8) })])
        }
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
        let origin = Array("\(options.prefix)origin".utf8)
        let chosen = try ask([
            .words("SELECT", "\(options.database)"), .words("INFO", "replication", "memory"),
        ])
        let info = RedisInfo(chosen[1])
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
            origin: replies[1].string ?? "")
        var digests: [RedisScript: [UInt8]] = [:]
        for (script, reply) in zip(scripts, replies.dropFirst(2)) { digests[script] = reply.bytes }
        self.digests = digests
        evicts = info["maxmemory"] != "0" && info["maxmemory_policy"] != "noeviction"
    }

    private static func check(
        _ reply: RedisReply, _ address: RedisOptions.Address
    ) throws(RedisError) {
        guard let code = reply.errorCode else { return }
        switch code {
        case "WRONGPASS", "NOAUTH", "NOPERM":
            throw RedisError(
                .credentials, doing: "log in to", on: "\(address)", seen: "refused", detail: code)
        case "READONLY":
            throw RedisError(
                .notMaster, doing: "use", on: "\(address)", seen: "a replica", detail: code)
        case "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN":
            throw RedisError(.busy, doing: "use", on: "\(address)", seen: "not ready", detail: code)
        case "OOM", "MISCONF", "NOREPLICAS":
            // It can't be written, which is no reason not to read it.
            return
        default:
            throw RedisError(
                .refused, doing: "use", on: "\(address)", seen: "refused", detail: code)
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
