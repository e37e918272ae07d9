import Chat
import Ports
import Wire

/// What the engine decided at the end of a turn. A turn with effects is not over: perform them,
/// report their results to the engine, and end the turn again. So writes, closes and throttles are
/// only in the last part of a turn, which has no effects.
package struct Turn {
    /// To perform at once, in this order.
    package fileprivate(set) var effects: [Turn.Effect] = []
    /// Questions to the cache. A read costs in proportion to its answer, so reads come after
    /// everything else. A later read sees more changes, never fewer than when it was decided.
    package fileprivate(set) var reads: [Turn.Read] = []
    /// Sessions that have frames to send and whose sockets take more.
    package internal(set) var writes: [Session] = []
    /// Connections to close after their outboxes were sent.
    package internal(set) var closes: [(SessionID, CloseCode)] = []
    /// Sessions over a rate limit: sockets to stop reading (true) or to resume reading (false).
    package internal(set) var throttles: [(SessionID, Bool)] = []

    package var isOver: Bool { effects.isEmpty }
}

/// The engine's decisions for its runner, in the order in which they were made.
struct Decided {
    private var effects: [Turn.Effect] = []
    private var reads: [Turn.Read] = []

    mutating func append(_ effect: Turn.Effect) { effects.append(effect) }
    mutating func append(_ read: Turn.Read) { reads.append(read) }

    /// Everything decided since the last call.
    mutating func take() -> Turn {
        var turn = Turn()
        swap(&turn.effects, &effects)
        swap(&turn.reads, &reads)
        return turn
    }
}

extension Turn {
    /// An order of the engine to others, other than reading the cache.
    package enum Effect: Sendable {
        /// Store this in the cache in one transaction, before anything that follows; answered by
        /// `stored`. Skip it if nobody awaits it any more, since an earlier one failed.
        case store(token: UInt64, [StoreWrite])
        case upstream(UpstreamEffect)
    }

    /// Requests to the upstream.
    package enum UpstreamEffect: Sendable {
        /// Ask the origin; answered by `fetched`.
        case fetch(token: UInt64, HistoryQuery)
        /// Subscribe to a conversation's feed; answered by `subscribed`, in each generation.
        case subscribe(String)
        case unsubscribe(String)
        /// Subscribe to what joins and leaves a user's list; answered by `subscribedList` whenever
        /// that feed begins.
        case subscribeList(user: String)
        case unsubscribeList(user: String)
        /// The log lost changes that were taken from it up to this head: give it a new epoch;
        /// answered by `fetched`.
        case forkEpoch(token: UInt64, Head, conversation: String)
        /// Perform a write; answered by `performed`.
        case perform(token: UInt64, Operation, Caller)
        /// Publish to the watchers on all gateways; comes back by the feed.
        case publish(FeedEvent)
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
