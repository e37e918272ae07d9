import Ports
import Rules
import Synchronization
import Wire

/// Outputs of an upstream for the loop. The outputs of one batch are in log order.
///
/// A *generation* is one unbroken feed: everything acknowledged and read under the same number came
/// from the same node with the same history. Generation numbers only rise; 0 means none, and an
/// answer of generation 0 proves nothing about the feed. (The embedded upstream, whose feed can't
/// break, has only generation 1.)
///
/// An origin that is sharded over several servers has a generation for each of them, with numbers
/// from one counter. `lapsed` then ends only what was subscribed under that number, a conversation
/// that moves to another server is subscribed again under that server's number, and an answer about
/// several conversations has a number only if they all have the same one. The answer with a user's
/// list has the number of the feed that notifies of the list.
package enum UpstreamOutput: Sendable {
    /// A change of a log, or an event that is no change (read markers, typing). It belongs to the
    /// current generation.
    case feed(FeedEvent)
    /// Changes of one log that were read together, in log order: a value may be newer than its own
    /// change, but not than the last of these.
    case part([FeedEvent])
    /// The result of an operation. If feed and writes share one path, it comes after the feed
    /// events that the operation caused; if the feed is a connection of its own, it may come before
    /// them.
    case performed(token: UInt64, Result<Outcome, RequestError>)
    /// The answer to a question, and the generation that lasted from the question to the answer.
    case answered(token: UInt64, generation: Int, Result<HistoryAnswer, RequestError>)
    /// The origin has acknowledged a subscription: from here on the feed has this conversation.
    case subscribed(conversation: String, generation: Int)
    /// The same for a user's list: the feed continues what is read of the list from here on.
    case subscribedList(user: String)
    /// The answer to a `presence` call.
    case presence(token: UInt64, Result<PresenceReading, RequestError>)
    /// What the origin keeps of who is there changed for these users, by whatever gateway.
    case presenceChanged([String])
    /// From here on the feed says whose presence changed; what it said before may be lost.
    case presenceFollowed
    /// All subscriptions of that generation have ended; those still wanted are being requested
    /// again. Later feed events belong to the next generation.
    case lapsed(generation: Int)
    /// Another gateway was asked to disconnect a user, so every gateway must. Requests made while
    /// the feed was away come before the `state` that says it is back.
    case disconnect(user: String, mayComeBack: Bool)
    /// A question or write found that this part of a log is damaged; nil: the whole log is intact
    /// again.
    case damaged(conversation: String, part: String?)
    /// `online` while the feed is live and history can be read, otherwise `offline`.
    case state(UpstreamState)
}

/// A chat backend as the gateway sees it: a feed of changes, a history to query, and a way to
/// write. An implementation brings its own threads; calls come from the loop and never block, and
/// all output goes to `deliver`, from any thread.
///
/// A damaged log (a part is missing, or contradicts the others) is never answered as whole: each
/// question and write fails with `RequestError.damaged(part)`, the part in the upstream's own word
/// for the operator; an answer to `heads` names it beside the heads of the others. The engine then
/// treats the conversation as disconnected, asks again from time to time, and takes the first
/// success as proof that the log is whole.
package protocol Upstream: AnyObject, Sendable {
    /// The value of `upstream.kind`: `embedded`, `redis`, …
    var kind: String { get }

    /// Faults since the start. Safe from any thread.
    var faults: UpstreamFaults { get }

    /// Whether it may answer calls within `submit`, on the thread that submits them.
    var answersWithinCall: Bool { get }

    /// Starts delivering. Called once.
    func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void)

    /// Takes all calls of one turn of the loop, in order, so that they can share round trips and a
    /// commit.
    func submit(_ calls: [UpstreamCall])

    /// Whether users may also be connected to other gateways of this origin.
    var reachesOthers: Bool { get }

    /// Applies these limits to writes from here on.
    func adopt(_ limits: LogLimits)

    /// Finishes pending calls and stops. Nothing is delivered after it returns.
    func stop()
}

/// Defaults for an upstream whose feed and log can't break.
extension Upstream {
    package var faults: UpstreamFaults { UpstreamFaults() }

    package var reachesOthers: Bool { false }

    package var answersWithinCall: Bool { false }
}

/// The limits of writes. A reload sets them on the loop; the upstream's threads read them.
final class PresentLimits: Sendable {
    private let present: Mutex<LogLimits>

    init(_ limits: LogLimits) { present = Mutex(limits) }

    var value: LogLimits {
        get { present.withLock { $0 } }
        set { present.withLock { $0 = newValue } }
    }
}
