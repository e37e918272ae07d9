import Chat
import Ports
import Wire

/// What the engine decided at the end of a turn. A turn with effects is not over: perform them,
/// report their results to the engine, and end the turn again. So writes, closes and throttles are
/// only in the last part of a turn, which has no effects.
package struct Turn {
    /// To perform at once, in this order.
    package internal(set) var effects: [Turn.Effect] = []
    /// Questions to the cache. A read costs in proportion to its answer, so reads come after
    /// everything else. A later read sees more changes, never fewer than when it was decided.
    package internal(set) var reads: [Turn.Read] = []
    /// Sessions that have frames to send and whose sockets take more.
    package internal(set) var writes: [Session] = []
    /// Connections to close after their outboxes were sent.
    package internal(set) var closes: [(SessionID, CloseCode)] = []
    /// Sessions over a rate limit: sockets to stop reading (true) or to resume reading (false).
    package internal(set) var throttles: [(SessionID, Bool)] = []

    package var isOver: Bool { effects.isEmpty }
}

extension Turn {
    /// An order of the engine to others, other than reading the cache.
    package enum Effect: Sendable {
        /// Store this in the cache in one transaction, before anything that follows; answered by
        /// `stored`. Skip it if nobody still awaits it, since an earlier one failed.
        case store(token: UInt64, [StoreWrite])
        case upstream(UpstreamCall)
    }

    /// A question to the cache; answered by `answered`.
    package struct Read: Sendable {
        package let token: UInt64
        package let query: Query
    }
}

/// When the next turn is due without input.
package enum Wake: Hashable, Sendable {
    /// At once: earlier input still waits.
    case now
    /// At this instant of the steady clock.
    case at(Duration)
    /// Not before there is input.
    case never
}

/// A moment on both clocks of a turn.
package struct Moment: Sendable {
    /// The clock of the engine's timers and of what clients see.
    package let now: Timestamp
    /// A steady clock with any origin, for pacing and the read budget.
    package let instant: Duration

    package init(now: Timestamp, instant: Duration) {
        self.now = now
        self.instant = instant
    }
}
