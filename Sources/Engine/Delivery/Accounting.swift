/// The accounting of deltas over all subscribers: what was accepted for somebody is written,
/// coalesced into a gap, discarded at a close, or still queued. `error` is 0, always; it is
/// exported and alerted, and never stops the service.
package struct Accounting: Sendable, Hashable {
    /// Deltas put before a subscriber, counted once for each.
    package var accepted = 0
    /// Handed to the subscriber's socket.
    package var written = 0
    /// Became part of a gap.
    package var coalesced = 0
    /// Still queued when the connection ended.
    package var discarded = 0
    /// Still queued now.
    package var queued = 0

    package init() {}

    package var error: Int { accepted - written - coalesced - discarded - queued }
}

/// The accounting of one conversation, for as long as it is in memory. Its events carry it along,
/// so that whatever becomes of them is entered without a search. Touched on the loop only.
final class ConversationAccounting {
    @exclusivity(unchecked) var deltas = Accounting()
    /// How many deltas had been accepted when the operator's page was last told.
    var seen = 0
}
