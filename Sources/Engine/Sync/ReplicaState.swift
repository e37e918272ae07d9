import Chat
import Wire

/// The states of a replica, its question in each, and the results of its events.
extension Replica {
    /// The state of this conversation's feed.
    enum State: Equatable {
        /// Not acknowledged, or broken since.
        case broken
        /// Acknowledged in this generation; earlier changes are not known yet.
        case behind(generation: Int, Phase)
        /// The stream is at the end of an unbroken feed.
        case live(generation: Int)
        /// The same, but with a change that the stream has not reached and the feed may still
        /// bring.
        case liveWithHole(generation: Int, Hole)
    }

    /// Changes that the stream has not reached and the feed may still bring.
    struct Hole: Equatable {
        /// The newest of them that was known when the wait began.
        let upTo: Int
        let since: Timestamp
        /// When the first change above `upTo` was mentioned.
        var mentionedAbove: Timestamp?
    }

    /// The next thing that a stream that is behind needs.
    enum Phase: Equatable {
        /// Record and head: the cache does not have the conversation.
        case loading
        /// Whether the log still stands where the stream does.
        case comparingHead
        /// The log lost what was taken from it: it gets a new epoch.
        case forkingEpoch
        /// The changes above the position.
        case catchingUp
        /// The newest page, for subscribers of a conversation that is far behind.
        case showingLatest
        /// The chain was read to its end. The feed may still fill the hole above.
        case waiting(Hole?)
    }

    /// Questions to the origin, one of a kind at a time.
    enum Step: Hashable {
        case conversation, compareHead, forkEpoch, catchUp, latest
        /// Changes above the `asOf` of a holder that is older than the cache.
        case backfill(since: Int)
    }

    /// The meaning of an answer about the log.
    enum Finding: Equatable {
        /// Nothing new, or nothing that is awaited.
        case nothing
        /// The log no longer exists.
        case vanished
        /// Another log has the name, or may have: nobody can rule it out.
        case replaced(Head, ResetReason)
        /// It has changes at least up to this one.
        case moved(to: Int)
        /// It is the stream's log, at the point that values were taken from. Unless changes below
        /// are `missing`, the stream is there too.
        case confirmed(missing: Bool)
    }

    /// The result of reaching the end of a chain.
    enum Arrival: Equatable {
        /// Another question comes first.
        case reading
        /// There is a hole that the feed may still close.
        case hole
        /// It is live, as before.
        case live
        /// It has reached the present.
        case present
    }
}

extension Replica.State {
    var generation: Int? {
        switch self {
        case .broken: nil
        case .behind(let generation, _), .live(let generation),
            .liveWithHole(let generation, _):
            generation
        }
    }

    var isLive: Bool {
        switch self {
        case .live, .liveWithHole: true
        case .broken, .behind: false
        }
    }
}
