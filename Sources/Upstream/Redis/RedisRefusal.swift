import Ports

/// A server's refusal in its own words, and what the operator is told of it.
extension RedisReply {
    /// The most characters of the server's text that are shown.
    private static let shown = 200

    /// A refusal: code and the server's text; for the log and health. Redis's error texts name
    /// commands, limits and settings, nothing that a user wrote.
    package var refusal: String? {
        guard let code = errorCode, case .error(let text) = self else { return nil }
        let words = text.drop { $0 != " " }.drop { $0 == " " }
        let said = words.prefix(Self.shown).filter { !$0.isNewline }
        return "refused (\(code))" + (said.isEmpty ? "" : ": \(said)")
    }

    /// What the operator is told where the server refuses something.
    package var event: LogEvent {
        switch errorCode {
        case "MISCONF": .originCannotSave
        case "OOM": .originOutOfMemory
        case "NOREPLICAS": .originLacksReplicas
        case "READONLY": .originIsReplica
        case "NOPERM": .originRightMissing
        case "NOAUTH", "WRONGPASS": .originPasswordRefused
        case "LOADING": .originLoading
        case "BUSY": .originBusy
        case "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN": .originClusterDown
        case "ERR" where refusal?.contains("max number of clients") == true: .originFull
        default: .originRefuses
        }
    }
}

extension RedisError {
    /// - Parameter reply: the server's error.
    init(_ code: Code, doing: String, on address: String, _ reply: RedisReply) {
        self.init(
            code, reply.event,
            "\(doing) \(address): \(reply.refusal ?? "an answer that is none")")
    }
}

extension RedisError {
    static let noMaster = RedisError(
        .notMaster, doing: "use", on: "Redis", seen: "no master",
        detail: "the server of upstream.redis.url is a replica: name its master; with sentinels or"
            + " in a cluster, more than half of them must name one")
}
