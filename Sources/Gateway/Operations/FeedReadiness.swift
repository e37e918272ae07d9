import Chat

/// Whether the feed of the origin counts as lost, for readiness. It does when it has been offline
/// for `health.ready_grace`, and no longer when it has been live for as long as it took to be sure
/// of that, without a break: what comes and goes is lost, and readiness does not flap. A value,
/// looked at whenever the feed changes and ten times a second.
struct FeedReadiness {
    /// How long a silent link is given before it counts as broken, in milliseconds.
    static let detection: Int64 = 2000

    private(set) var isLost = false
    private var hasBeenLive = false
    private var liveSince: Timestamp?

    /// - Parameters:
    ///   - offlineSince: nil while the feed is live.
    ///   - grace: `health.ready_grace`, in milliseconds.
    mutating func look(offlineSince: Timestamp?, grace: Int64, at now: Timestamp) {
        if let offlineSince {
            liveSince = nil
            if now.milliseconds - offlineSince.milliseconds >= grace { isLost = true }
            return
        }
        let since = liveSince ?? now
        liveSince = since
        // A start is no outage.
        let wait = hasBeenLive ? max(grace, Self.detection) : 0
        guard now.milliseconds - since.milliseconds >= wait else { return }
        (isLost, hasBeenLive) = (false, true)
    }
}
