import Chat
import Wire

/// What a gateway asks of an upstream: what the engine decides, and what the server API asks for.
/// All calls of one turn go to the upstream together, in order.
package enum UpstreamCall: Sendable {
    /// A write; answered by `performed` with the same token.
    case perform(Operation, by: Caller, token: UInt64)
    /// A question about history; answered by `answered` with the same token.
    case ask(HistoryQuery, token: UInt64)
    /// Starts a new epoch if the log lost what the head shows: it is still in the epoch of the
    /// head, and ends below its rev or has another mark there. Otherwise does nothing, so neither a
    /// second caller does harm nor one so far behind that the log no longer keeps a mark for that
    /// rev. Answered by `answered` with the `heads` of this one conversation as they are then.
    case forkEpoch(Head, conversation: String, token: UInt64)
    /// Subscribes to a conversation's feed; answered by `subscribed`, again in each generation,
    /// until `unsubscribe`.
    case subscribe(String)
    /// A few events may still arrive.
    case unsubscribe(String)
    /// Subscribes to a user's list: conversations that enter or leave it. Answered by
    /// `subscribedList` whenever that feed begins.
    case subscribeList(user: String)
    case unsubscribeList(user: String)
    /// Publishes an event to all who watch the conversation, on all gateways; it comes back by the
    /// feed, and may be lost.
    case publish(FeedEvent)
    /// Has every other gateway of the origin disconnect a user, including gateways that are cut off
    /// and return within an hour. Answered by `performed` with `done`, or `origin_unavailable` if
    /// the origin can't be reached. Only where the upstream `reachesOthers`.
    case disconnect(user: String, mayComeBack: Bool, token: UInt64)

    /// Says, renews and reads who is there; answered by `presence` with the same token.
    case presence(PresenceCall, token: UInt64)

    /// For fair queueing: the user who pays, of a write or of a question about the user's list.
    /// Other questions are asked for many users.
    package var payer: Payer {
        switch self {
        case .perform(_, let caller, _): caller.payer
        case .ask(let query, _): query.user.map { Payer(user: $0.id) } ?? .gateway
        case .forkEpoch, .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .publish,
            .disconnect, .presence:
            .gateway
        }
    }
}
