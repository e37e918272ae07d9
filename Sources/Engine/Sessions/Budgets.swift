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

/// Who asks pays, whichever of the connections is used: small requests one each, larger ones by
/// what they turn out to take.
extension Engine {
    /// Holds everybody to other limits from here on; what was asked for stays paid.
    package func adopt(_ limits: Limits) {
        self.limits = limits
        pacing.adopt(limits)
        delivery.adopt(limits)
        sessions.adopt(limits)
    }

    /// Takes what a frame costs by what it says, or tells after how many milliseconds it may come
    /// again.
    func pay(_ frame: RequestFrame, _ session: Session) -> Int? {
        guard let budget = session.budget else { return session.bucket.take(frame.cost, at: now) }
        return budget.requests.take(min(frame.cost, limits.largestCost), at: now)
    }

    /// Charges what a request turned out to take beyond that. It was answered: what is not there is
    /// owed, and whoever owes waits.
    func charge(_ call: Call, _ session: Session, rows: Int, bytes: Int, people: Int) {
        guard limits.requestsPerSecond > 0, let budget = session.budget else { return }
        let paid = call.request.cost
        let cost = call.request.cost(rows: rows, bytes: bytes, people: people)
        let more = min(cost, limits.largestCost) - min(paid, limits.largestCost)
        if more > 0 { budget.requests.charge(more, at: now) }
    }

    /// Charges the bytes of a frame. While a user owes some, none of the user's sockets is read.
    func chargeBytes(_ frame: RequestFrame, _ session: Session) {
        guard limits.bytesPerSecond > 0, let user = session.user, let budget = session.budget else {
            return
        }
        budget.bytes.charge(frame.size, at: now)
        guard let wait = budget.bytes.debt(at: now) else { return }
        for session in sessions.of(user.id) {
            sessions.pause(session, min(wait, Self.longestPause), at: now)
        }
    }

    /// Milliseconds. What a user sends in one turn is soon paid back; a limit that was lowered is
    /// not to silence anybody for long.
    private static let longestPause = 10_000
}

extension Limits {
    /// What a request may cost at most: a quarter of what there is at once.
    var largestCost: Int { max(1, TokenBucket.burst(rate: requestsPerSecond) / 4) }
}
