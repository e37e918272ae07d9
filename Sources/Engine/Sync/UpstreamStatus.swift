import Chat
import Wire

/// The upstream's state as clients see it, and since when: `offline` while its link is down;
/// `syncing` while a watched conversation has not caught up since its feed broke; otherwise
/// `online`. Right after the start a link that is down is not `offline` yet. If the store is the
/// origin it is always `online`. Owned by the engine.
struct UpstreamStatus {
    private(set) var state: UpstreamState
    private(set) var since: Timestamp
    /// Whether the upstream's link is up.
    private(set) var isLinked = false
    /// Since when the upstream's link is down, counted from the start; nil while it is up, and if
    /// the store is the origin.
    private(set) var unlinkedSince: Timestamp?
    private var hasBeenLinked = false
    /// Watched conversations that have not caught up since their feed broke, and whose subscribers
    /// were not sent `open` for them.
    private var behind: Set<ID> = []
    /// How often a stream reached the present: the clock by which what is known of a log is
    /// compared with an answer.
    private(set) var arrivals = 0
    /// The last of them was settled in this turn.
    private var isToBeTold = false
    /// From here on a link that is down counts as `offline`.
    private let patienceEnds: Timestamp
    private let isElsewhere: Bool

    /// - Parameter wait: how long the link may take to come up first, in milliseconds; nil if the
    ///   store is the origin.
    init(wait: Int64?, at now: Timestamp) {
        state = wait == nil ? .online : .syncing
        since = now
        unlinkedSince = wait == nil ? nil : now
        patienceEnds = now.adding(wait ?? 0)
        isElsewhere = wait != nil
    }

    /// Whether the link had time to come up once.
    func hasGivenTime(at now: Timestamp) -> Bool { hasBeenLinked || now >= patienceEnds }

    mutating func linked(_ isUp: Bool, at now: Timestamp) {
        isLinked = isUp
        unlinkedSince = isUp ? nil : unlinkedSince ?? now
        hasBeenLinked = hasBeenLinked || isUp
    }

    /// The feed of a watched conversation broke.
    mutating func fellBehind(_ conversation: ID) { behind.insert(conversation) }

    func isBehind(_ conversation: ID) -> Bool { behind.contains(conversation) }

    /// The conversation has caught up, or its subscribers were sent `open` for it.
    mutating func settled(_ conversation: ID) {
        guard behind.remove(conversation) != nil, behind.isEmpty else { return }
        isToBeTold = true
    }

    /// A stream reached the present.
    /// - Returns: when, as a number of arrivals.
    mutating func arrived(_ conversation: ID) -> Int {
        settled(conversation)
        arrivals += 1
        return arrivals
    }

    /// Whether the state may have changed since the last call, at the end of a turn.
    mutating func takePendingNotice() -> Bool {
        defer { isToBeTold = false }
        return isToBeTold
    }

    /// Updates the state.
    /// - Returns: whether it changed, so that clients must be notified.
    mutating func change(at now: Timestamp) -> Bool {
        guard isElsewhere else { return false }
        let next: UpstreamState =
            isLinked
            ? (behind.isEmpty ? .online : .syncing)
            : hasGivenTime(at: now) ? .offline : .syncing
        guard next != state else { return false }
        (state, since) = (next, now)
        return true
    }
}
