/// Faults between an origin elsewhere and its watchers. A world has some of them, drawn from its
/// seed; a failing world is tried again without each.
package enum Fault: String, Sendable, Hashable, CaseIterable {
    /// The link breaks and returns, noticed sooner or later.
    case lapses
    /// The gateway's process ends at any moment, and restarts with its cache.
    case restarts
    /// Answers of origin and cache are late.
    case late
    /// The origin does not answer.
    case failures
    /// Pages are shorter than requested.
    case short
    /// The same answer comes twice.
    case repeated
    /// The cache can't be written.
    case stores
    /// The feed loses events silently.
    case drops
    /// The feed repeats events.
    case duplicates
    /// The feed reorders events.
    case reorders
    /// The feed pauses.
    case stalls
    /// Failover: another master takes over without the newest changes.
    case failovers
    /// Everything at the origin is lost silently.
    case empties
    /// A part of a log is lost, emptied, truncated, or replaced by another log's, and repaired
    /// later.
    case damages
    /// A log is put back to an earlier state under a feed that goes on, and grows from there.
    case forks
    /// The origin keeps only the newest messages.
    case floors
    /// The cache trims.
    case trims
    /// Readers are slow, and connections are lost.
    case readers
    /// Clients move between two gateways.
    case gateways
}
