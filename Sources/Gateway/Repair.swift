import Configuration
import Dispatch
import Engine
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
        let options: RedisOptions
        do {
            options = try RedisOptions(configuration, bytes: configuration.limits.reply)
        } catch {
            throw OriginFailure(text: "upstream.redis: \(error)")
        }
        let redis = Redis(options)
        let isOnline = DispatchSemaphore(value: 0)
        redis.start { outputs in
            for case .state(.online) in outputs { isOnline.signal() }
        }
        defer { redis.stop() }
        guard isOnline.wait(timeout: .now() + .seconds(30)) == .success else {
            throw OriginFailure(text: redis.trouble?.text ?? "Redis can't be reached")
        }
        switch subject {
        case .conversation(let id): return try log(of: id, redis)
        case .list(let user):
            do throws(RequestError) {
                let count = try redis.repair(listOf: user)
                return "the list of user \(user) has \(count) conversations"
            } catch {
                throw OriginFailure(text: "\(error.message): \(redis.trouble?.text ?? "try again")")
            }
        }
    }

    private static func log(of conversation: String, _ redis: Redis) throws(OriginFailure) -> String
    {
        do throws(RequestError) {
            switch try redis.repair(conversation) {
            case .whole: return "the log of conversation \(conversation) is whole: nothing done"
            case .repaired(let head):
                return "the log of conversation \(conversation) has epoch \(head.epoch), seq "
                    + "\(head.floor)…\(head.seq): what was left of it; who held it loads it again"
            }
        } catch {
            guard error.code != .notFound else {
                throw OriginFailure(
                    text: "no head of conversation \(conversation) is left: the next PUT begins "
                        + "another log and removes the rest")
            }
            throw OriginFailure(text: "\(error.message): \(redis.trouble?.text ?? "try again")")
        }
    }
}
