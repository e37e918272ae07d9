import Chat
import Wire

/// The rate limits of one user, shared by all connections to this gateway. Owned by the engine,
/// touched on the loop.
final class UserBudget {
    /// `limits.requests_per_second`, in units of cost.
    var requests: TokenBucket
    /// `limits.bytes_per_second`.
    var bytes: TokenBucket

    init(_ limits: Limits, at now: Timestamp) {
        requests = TokenBucket(rate: limits.requestsPerSecond, at: now)
        bytes = TokenBucket(rate: limits.bytesPerSecond, burst: limits.bytesPerSecond, at: now)
    }

    /// Whether it equals a new one.
    func isFull(at now: Timestamp) -> Bool {
        requests.isFull(at: now) && bytes.isFull(at: now)
    }
}

extension Limits {
    /// The most that one request may cost: a quarter of the burst. Without a rate limit, costs
    /// still order the reads.
    var largestCost: Int {
        requestsPerSecond > 0 ? max(1, TokenBucket.burst(rate: requestsPerSecond) / 4) : 100
    }
}
