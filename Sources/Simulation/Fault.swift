/// What may go wrong between an origin elsewhere and those who watch. A world has some of them,
/// drawn from its seed; a failing one is tried again without each.
package enum Fault: String, Sendable, Hashable, CaseIterable {
    /// The link breaks and comes back, sooner or later noticed.
    case lapses
    /// The gateway's process ends, at any moment, and starts again over its cache.
    case restarts
    /// Answers of origin and cache take their time.
    case late
    /// The origin does not answer.
    case failures
    /// Pages are shorter than was asked for.
    case short
    /// The same answer comes twice.
    case repeated
    /// The cache can't be written.
    case stores
    /// The feed loses events and says nothing.
    case drops
    /// The feed says things twice.
    case duplicates
    /// The feed says things in another order.
    case reorders
    /// The feed pauses.
    case stalls
    /// Another master takes over, without the newest changes.
    case failovers
    /// Everything at the origin is lost, in silence.
    case empties
    /// A part of a log is lost, emptied, cut, or another log's, and mended after a while.
    case damages
    /// The origin keeps the newest messages alone.
    case floors
    /// The cache drops what it need not keep.
    case trims
    /// Readers are slow, connections are lost.
    case readers
    /// Clients move between two gateways.
    case gateways
}
