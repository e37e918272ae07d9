import Chat
import Wire

/// The states of a replica, what it asks in each, and what its events come to: the table that
/// `Replica` goes by.
extension Replica {
    /// How the feed of this conversation stands.
    enum State: Equatable {
        /// Not acknowledged, or broken since.
        case broken
        /// Acknowledged in this generation; what came before is not known yet.
        case behind(generation: Int, Phase)
        /// The stream is at the end of an unbroken feed.
        case live(generation: Int)
        /// The same, but there is a change that it has not reached and that the feed itself may
        /// still bring.
        case liveWithHole(generation: Int, since: Timestamp)
    }

    /// What a stream that is behind waits for.
    enum Phase: Equatable {
        /// Record and head: the cache does not have the conversation, or it jumps.
        case loading
        /// Whether the log still stands where the stream does.
        case comparingHead
        /// Whether the log has the newest change that values were taken from.
        case verifyingHead
        /// The log has lost what was taken from it: it gets another epoch.
        case forkingEpoch
        /// What changed above the position.
        case catchingUp
        /// The newest page, for those who watch a conversation that is far behind.
        case showingLatest
        /// The chain was read to its end. The feed may still bring what lies in the hole above.
        case waiting(since: Timestamp?)
    }

    /// What is asked of the origin, one of a kind at a time.
    enum Step: Hashable {
        case conversation, compareHead, verifyHead, forkEpoch, catchUp, latest
        /// What changed above the `asOf` of a holder that is older than the cache.
        case backfill(since: Int)
    }

    /// What an answer says about the log.
    enum Finding: Equatable {
        /// Nothing that was not known, or nothing that is waited for.
        case nothing
        /// There is no such log any more.
        case vanished
        /// Another log has the name, or nobody can tell that it is not another.
        case replaced(Head, ResetReason)
        /// It has changes up to this one at least.
        case moved(to: Int)
        /// It is the log that the stream knows, and stands where values were taken from. If nothing
        /// is `missing` below, the stream stands there too.
        case confirmed(missing: Bool)
    }

    /// Where the end of a chain has brought it.
    enum Arrival: Equatable {
        /// More is to be asked first.
        case reading
        /// There is a hole, which the feed may close yet.
        case hole
        /// It is live, as it was.
        case live
        /// It has come to the present.
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
