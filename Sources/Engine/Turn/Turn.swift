import Chat
import Ports
import Wire

/// What the engine has decided at the end of a turn. While there are effects it is not over: they
/// are performed, the engine hears what became of them, and the turn is ended again. So what is
/// written, closed and throttled comes with the last part of a turn, which has no effects.
package struct Turn {
    /// To be performed at once, in this order.
    package fileprivate(set) var effects: [Turn.Effect] = []
    /// Questions to the cache. They cost what their answers are long, and come behind everything
    /// else; a read that comes later sees more, and never less than it was asked for.
    package fileprivate(set) var reads: [Turn.Read] = []
    /// Sessions that have frames to send and whose sockets take some.
    package internal(set) var writes: [Session] = []
    /// Connections to close, after their outboxes were sent.
    package internal(set) var closes: [(SessionID, CloseCode)] = []
    /// Sessions that ask for too much, whose sockets are not to be read from now on (true), or
    /// again (false).
    package internal(set) var throttles: [(SessionID, Bool)] = []

    package var isOver: Bool { effects.isEmpty }
}

/// What the engine asks of whatever runs it, in the order in which it decided so.
struct Decided {
    private var effects: [Turn.Effect] = []
    private var reads: [Turn.Read] = []

    mutating func append(_ effect: Turn.Effect) { effects.append(effect) }
    mutating func append(_ read: Turn.Read) { reads.append(read) }

    /// The beginning of a turn: what was decided since the last one.
    mutating func take() -> Turn {
        var turn = Turn()
        swap(&turn.effects, &effects)
        swap(&turn.reads, &reads)
        return turn
    }
}

extension Turn {
    /// What the engine has others do, other than to read the cache.
    package enum Effect: Sendable {
        /// Have the cache keep this, in one transaction and before anything that follows; answered
        /// by `stored`. Not to be done where nobody awaits it: after another one failed.
        case store(token: UInt64, [StoreWrite])
        case upstream(UpstreamEffect)
    }

    /// What the upstream is asked for.
    package enum UpstreamEffect: Sendable {
        /// Ask the origin; answered by `fetched`.
        case fetch(token: UInt64, HistoryQuery)
        /// Ask for the feed of a conversation; answered by `subscribed`, in each generation.
        case subscribe(String)
        case unsubscribe(String)
        /// Ask to be told of conversations that come into a user's list or leave it; answered by
        /// `subscribedList`, whenever the feed begins to tell.
        case subscribeList(user: String)
        case unsubscribeList(user: String)
        /// The log has lost what was taken from it at this head; answered by `fetched`.
        case forkEpoch(token: UInt64, Head, conversation: String)
        /// Ask the upstream for a write; answered by `performed`.
        case perform(token: UInt64, Operation, Caller)
        /// Tell all gateways' watchers; comes back by the feed.
        case publish(FeedEvent)
    }

    /// A question to the cache; answered by `answered`.
    package struct Read: Sendable {
        package let token: UInt64
        package let query: Query
    }
}

/// When the next turn is due though nothing comes in.
package enum Wake: Hashable, Sendable {
    /// At once: something waits that came in before.
    case now
    /// At this instant of the clock that never jumps.
    case at(Duration)
    /// Not before something comes in.
    case never
}

/// A moment on the two clocks of a turn.
package struct Moment: Sendable {
    /// As the engine's timers and what clients see go by it.
    package let now: Timestamp
    /// On a clock that never jumps, since whenever it began: pacing and the read budget go by it.
    package let instant: Duration

    package init(now: Timestamp, instant: Duration) {
        self.now = now
        self.instant = instant
    }
}
