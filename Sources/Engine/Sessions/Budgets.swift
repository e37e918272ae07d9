import Chat
import Wire

/// What one user may still ask of this gateway, over all connections together. Owned by the engine,
/// touched on the loop.
final class UserBudget {
    /// `limits.requests_per_second`, in cost.
    var requests: TokenBucket
    /// `limits.bytes_per_second`.
    var bytes: TokenBucket

    init(_ limits: Limits, at now: Timestamp) {
        requests = TokenBucket(rate: limits.requestsPerSecond, at: now)
        bytes = TokenBucket(rate: limits.bytesPerSecond, burst: limits.bytesPerSecond, at: now)
    }

    /// Whether a new one would be the same.
    func isFull(at now: Timestamp) -> Bool {
        requests.isFull(at: now) && bytes.isFull(at: now)
    }
}

extension Limits {
    /// What a request may cost at most: a quarter of what there is at once. Where there is no such
    /// limit, costs still decide who is read for next.
    var largestCost: Int {
        requestsPerSecond > 0 ? max(1, TokenBucket.burst(rate: requestsPerSecond) / 4) : 100
    }
}
