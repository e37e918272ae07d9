/// A server's refusal in its own words, and what to do about it: for the log and for health.
extension RedisReply {
    /// The most characters of the server's text that are shown.
    private static let shown = 200

    /// A refusal: code, the server's text, and what to do; for the log and health. Redis's error
    /// texts name commands, limits and settings, nothing that a user wrote.
    package var refusal: String? {
        guard let code = errorCode, case .error(let text) = self else { return nil }
        let words = text.drop { $0 != " " }.drop { $0 == " " }
        let said = words.prefix(Self.shown).filter { !$0.isNewline }
        guard let remedy = Self.remedy(code, said) else {
            return "refused (\(code))" + (said.isEmpty ? "" : ": \(said)")
        }
        let end = said.isEmpty || said.hasSuffix(".") ? "" : "."
        return "refused (\(code)): \(said)\(end)\(UpstreamFaults.toDo)\(remedy)"
    }

    private static func remedy(_ code: String, _ said: String) -> String? {
        switch code {
        case "MISCONF": "make room where its dir is, and look into its log"
        case "OOM": "raise its maxmemory, or keep less (upstream.redis.retain)"
        case "NOREPLICAS": "bring its replicas back (min-replicas-to-write)"
        case "READONLY": "name the master, by upstream.redis.url or upstream.redis.sentinels"
        case "NOPERM": "give its user the rights that security.md names (ACL SETUSER)"
        case "NOAUTH", "WRONGPASS":
            "correct upstream.redis.password_file, or user and password in upstream.redis.url"
        case "LOADING": "wait: it reads its file"
        case "BUSY": "wait, or end the script that runs (SCRIPT KILL)"
        case "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN": "look at the cluster (CLUSTER INFO)"
        case "ERR" where said.contains("max number of clients"):
            "raise its maxclients, or end what holds them (CLIENT LIST)"
        default: nil
        }
    }
}

extension RedisError {
    /// - Parameter reply: the server's error.
    init(_ code: Code, doing: String, on address: String, _ reply: RedisReply) {
        self.init(code, "\(doing) \(address): \(reply.refusal ?? "an answer that is none")")
    }
}

extension RedisError {
    static let noMaster = RedisError(
        .notMaster, doing: "use", on: "Redis", seen: "no master",
        detail: "the server of upstream.redis.url is a replica: name its master; with sentinels or"
            + " in a cluster, more than half of them must name one")
}
