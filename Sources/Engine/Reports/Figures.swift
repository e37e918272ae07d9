import Wire

/// Counters of the engine for health and metrics.
package struct Figures: Sendable {
    /// Connections closed by the gateway, by code.
    package var closes: [CloseCode: Int] = [:]
    /// Requests answered with an error, by code.
    package var errors: [ErrorCode: Int] = [:]
    package var requests = 0
    /// Changes taken from the feed.
    package var changes = 0
    /// How often a slow reader's events became a gap.
    package var shed = 0
    /// Counters of pacing.
    package var pacing = Pacing.Counters()
    /// Subscriptions with a `have` that the log confirmed.
    package var resumes = 0
    /// Subscriptions told to discard what they held.
    package var resets: [ResetReason: Int] = [:]
    /// Confirmed ones that were answered from memory.
    package var remembered = 0
    /// Questions to an origin that lives elsewhere.
    package var fetches: [FetchKind: Int] = [:]

    package init() {}
}

/// Sizes of what the engine holds.
package struct Totals: Sendable {
    package var sessions: Int
    package var subscriptions: Int
    package var streams: Int
    package var outboxBytes: Int
    /// Including what is queued now.
    package var accounting: Accounting
}

extension Totals {
    /// Adds what the engine holds for this session.
    mutating func add(_ session: Session) {
        subscriptions += session.subscriptions.count
        outboxBytes += session.lane.outbox.backlog
        accounting.queued += session.lane.outbox.deltas
    }
}
