import Chat
import Wire

/// Why a holder had to forget what it held.
package enum ResetReason: String, Sendable, Hashable, CaseIterable {
    /// What it holds is of a log that had the name before.
    case epoch
    /// It saw changes that the log has not.
    case ahead
    /// The log has another mark at that change, or keeps none so far back, so that nobody can tell.
    case mark
    /// Neither the cache nor, in time, the origin said whether it is of this log.
    case unanswered
    /// The log got another epoch while it watched.
    case replaced
}

/// Something that whoever runs the gateway is to know of, for the log.
package struct Incident: Sendable, Hashable {
    package var conversation: String
    package var reason: ResetReason
    /// How many subscriptions were told to forget.
    package var subscriptions: Int

    /// Those that wait to be said; beyond, they are counted alone.
    static let limit = 1000
}

extension Stream {
    /// Why what the holder says was not confirmed.
    func reason(toReset have: Have, _ state: State) -> ResetReason {
        let seen = have.head
        if seen.epoch != state.head.epoch { return .epoch }
        if seen.rev > state.head.rev { return .ahead }
        guard let replica, seen.rev != state.position.rev, seen.rev > 0, have.asOf <= seen.rev
        else { return .mark }
        let isRefused =
            replica.identity.holds(HeadProof(seen)) == false || recent.confirms(seen) == false
        return isRefused ? .mark : .unanswered
    }
}
