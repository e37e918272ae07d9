import Engine
import Wire

/// What an upstream hands to the loop. One batch is in the order of the log.
package enum UpstreamOutput: Sendable {
    case feed(FeedEvent)
    /// The fate of an operation, after the feed events that it caused.
    case performed(token: UInt64, Result<Outcome, RequestError>)
    case answered(token: UInt64, Result<HistoryAnswer, RequestError>)
}

/// A chat backend as the gateway sees it: a feed of changes, a history to ask, and a door for
/// writes. An implementation brings its own threads; the calls come from the loop and don't block,
/// and everything that it has to say goes to `deliver`, from any thread.
package protocol Upstream: AnyObject, Sendable {
    /// The word of the configuration: `embedded`, `redis`, …
    var kind: String { get }

    /// Begins to deliver. Called once.
    func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void)

    /// Asks for a write; answered by `performed` with the same token.
    func perform(_ operation: Operation, by caller: Caller, token: UInt64)

    /// Asks for history; answered by `answered` with the same token.
    func ask(_ query: HistoryQuery, token: UInt64)

    /// Tells everybody that watches the conversation; may be lost.
    func publish(_ event: FeedEvent)

    /// Finishes what was asked for, and stops. Returns when nothing more will be delivered.
    func stop()
}
