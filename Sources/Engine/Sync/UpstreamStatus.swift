import Chat
import Wire

/// In which state clients see the upstream, and since when: `offline` while its link is down,
/// `syncing` while a conversation that somebody watches has not been brought to the present since
/// the feed broke, otherwise `online`. Right after the start a link that is down says nothing yet.
/// Where the store is the origin it is `online` for ever. Owned by the engine.
struct UpstreamStatus {
    private(set) var state: UpstreamState
    private(set) var since: Timestamp
    /// The upstream's link is up.
    private(set) var isLinked = false
    /// Since when the upstream's link is down, from the start on; nil while it is up, and where
    /// the store is the origin.
    private(set) var unlinkedSince: Timestamp?
    private var hasBeenLinked = false
    /// Watched conversations that have not come to the present since their feed broke, and whose
    /// subscribers were not told so by name.
    private var behind: Set<ID> = []
    /// The last of them has come to the present in this turn.
    private var isToBeTold = false
    /// From then on a link that is down is one that does not come up.
    private let patienceEnds: Timestamp
    private let isElsewhere: Bool

    /// - Parameter wait: how long the link has to come up once, in milliseconds; nil where the
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

    /// The feed of a conversation that somebody watches has broken.
    mutating func fellBehind(_ conversation: ID) { behind.insert(conversation) }

    func isBehind(_ conversation: ID) -> Bool { behind.contains(conversation) }

    /// The conversation is at the present, or its subscribers were told that it is not.
    mutating func settled(_ conversation: ID) {
        guard behind.remove(conversation) != nil, behind.isEmpty else { return }
        isToBeTold = true
    }

    /// Whether the state may have changed since the last call, at the end of a turn.
    mutating func takeIsToBeTold() -> Bool {
        defer { isToBeTold = false }
        return isToBeTold
    }

    /// Looks at the state.
    /// - Returns: whether it has changed, and clients are to be told.
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
