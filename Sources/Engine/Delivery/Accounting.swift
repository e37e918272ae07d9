/// The accounting of deltas over all subscribers: each accepted delta is written, coalesced into a
/// gap, discarded at a close, or still queued. `error` is always 0; it is exported and has an
/// alert, and never stops the service.
package struct Accounting: Sendable, Hashable {
    /// Deltas queued for a subscriber, counted once per subscriber.
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

/// The accounting of one conversation while it is in memory. Its events carry a reference, so that
/// their fate is counted without a lookup. Touched on the loop only.
final class ConversationAccounting {
    @exclusivity(unchecked) var deltas = Accounting()
    /// How many deltas had been accepted at the last update of the operator's page.
    var seen = 0
}
