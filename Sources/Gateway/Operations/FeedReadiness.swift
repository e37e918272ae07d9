import Chat

/// Whether the origin's feed counts as lost, for readiness. It is lost once it has been offline for
/// `health.ready_grace`, and back once it has been live without a break for at least as long (and
/// the detection time): a flapping feed stays lost, so readiness does not flap. A value, polled
/// whenever the feed changes and ten times a second.
struct FeedReadiness {
    /// The deadline of a silent link before it counts as broken, in milliseconds.
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
        // The first time there is no wait: a start is no outage.
        let wait = hasBeenLive ? max(grace, Self.detection) : 0
        guard now.milliseconds - since.milliseconds >= wait else { return }
        (isLost, hasBeenLive) = (false, true)
    }
}
