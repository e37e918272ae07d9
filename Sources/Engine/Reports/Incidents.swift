import Chat
import Wire

/// Why a holder had to discard what it held.
package enum ResetReason: String, Sendable, Hashable, CaseIterable {
    /// It held values of a former log of this name.
    case epoch
    /// It saw changes that the log does not have.
    case ahead
    /// The log has another mark at that change, or none so far back, so that nobody can tell.
    case mark
    /// Neither the cache nor, in time, the origin confirmed that it is of this log.
    case unanswered
    /// The log got another epoch while it was subscribed.
    case replaced
}

/// Something that the gateway's operator should know, for the log.
package struct Incident: Sendable, Hashable {
    package var conversation: String
    package var reason: ResetReason
    /// How many subscriptions had to discard what they held.
    package var subscriptions: Int

    /// Limit of incidents that wait to be logged; further ones are only counted.
    static let limit = 1000
}

extension Stream {
    /// Why the holder's claim was not confirmed.
    func reason(toReset have: Have, _ state: State) -> ResetReason {
        let seen = have.head
        if seen.epoch != state.head.epoch { return .epoch }
        if seen.rev > state.head.rev {
            // A replica that is behind proves nothing by that; only its origin's answer does.
            guard let replica else { return .ahead }
            return replica.identity.holds(HeadProof(seen)) == false ? .ahead : .unanswered
        }
        guard let replica, seen.rev != state.position.rev, seen.rev > 0, have.asOf <= seen.rev
        else { return .mark }
        let isRefused =
            replica.identity.holds(HeadProof(seen)) == false || recent.confirms(seen) == false
        return isRefused ? .mark : .unanswered
    }
}
