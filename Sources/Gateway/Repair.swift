import Configuration
import Upstream
import Wire

/// `gapless repair`: makes a damaged log in Redis whole again, from what is left of it, or rebuilds
/// a user's list.
package enum LogRepair {
    /// What is to be repaired.
    package enum Subject: Sendable {
        case conversation(String)
        case list(user: String)
    }

    /// Repairs it in the configured Redis.
    /// - Returns: what was done, as text for the operator.
    /// - Throws: `OriginFailure`.
    package static func run(
        _ configuration: Configuration, _ subject: Subject
    ) throws(OriginFailure) -> String {
        let redis = try Redis(of: configuration)
        return try redis.whileOnline { () throws(OriginFailure) in
            do throws(RequestError) {
                return switch subject {
                case .conversation(let id): try log(of: id, redis)
                case .list(let user):
                    "the list of user \(user) has \(try redis.repair(listOf: user)) conversations"
                }
            } catch {
                guard case .conversation(let id) = subject, error.code == .notFound else {
                    throw OriginFailure(error, of: redis)
                }
                throw OriginFailure(
                    text: "no head of conversation \(id) is left: the next PUT begins another log "
                        + "and removes the rest")
            }
        }
    }

    private static func log(
        of conversation: String, _ redis: Redis
    ) throws(RequestError) -> String {
        switch try redis.repair(conversation) {
        case .whole: "the log of conversation \(conversation) is whole: nothing done"
        case .repaired(let head):
            "the log of conversation \(conversation) has epoch \(head.epoch), seq "
                + "\(head.floor)…\(head.seq): what was left of it; who held it loads it again"
        }
    }
}
