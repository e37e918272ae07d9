import Wire

/// What the engine counts for health and metrics.
package struct Figures: Sendable {
    /// Connections closed by the gateway, by code.
    package var closes: [CloseCode: Int] = [:]
    /// Requests answered with an error, by code.
    package var errors: [ErrorCode: Int] = [:]
    package var requests = 0
    /// Changes taken from the feed.
    package var changes = 0
    /// Times that a slow reader's events became a gap.
    package var shed = 0
    /// What pacing has counted.
    package var pacing = Pacing.Counters()
    /// Subscriptions answered, by whether the holder's log was confirmed.
    package var resumes = 0
    /// Subscriptions that were told to forget what they held.
    package var resets: [ResetReason: Int] = [:]
    /// Of those that were confirmed, the ones answered from memory.
    package var remembered = 0
    /// Questions to an origin that lives elsewhere.
    package var fetches: [FetchKind: Int] = [:]

    package init() {}
}

/// How many there are of what the engine holds.
package struct Totals: Sendable {
    package var sessions: Int
    package var subscriptions: Int
    package var streams: Int
    package var outboxBytes: Int
    /// With what is queued now.
    package var accounting: Accounting
}

extension Totals {
    /// What the engine holds for this session, too.
    mutating func add(_ session: Session) {
        subscriptions += session.subscriptions.count
        outboxBytes += session.lane.outbox.backlog
        accounting.queued += session.lane.outbox.deltas
    }
}
