import Ports
import Rules
import Synchronization
import Wire

/// What an upstream hands to the loop. One batch is in the order of the log.
///
/// A *generation* is one unbroken feed: what was acknowledged, and read, under the same number
/// came from the same node with the same history. Numbers of generations only rise; 0 stands for
/// none, and an answer of generation 0 proves nothing about the feed. (The embedded upstream, whose
/// feed can't break, has the one generation 1.)
///
/// An origin that is divided among servers has a generation for each of them at a time, all numbers
/// drawn from one counter. Then `lapsed` ends what was subscribed under that number alone, a
/// conversation whose server changes is subscribed again under the number of another, and an answer
/// about several conversations has a number only where they all have the same. The answer with a
/// user's list has the number of the feed that tells of the list.
package enum UpstreamOutput: Sendable {
    /// A change, or what is none; it belongs to the generation that is under way.
    case feed(FeedEvent)
    /// The fate of an operation. Where feed and writes come the same way, it stands after the feed
    /// events that it caused; where the feed is a connection of its own, it may come before them.
    case performed(token: UInt64, Result<Outcome, RequestError>)
    /// The answer to a question, and the generation that was under way all the time from the
    /// question to the answer.
    case answered(token: UInt64, generation: Int, Result<HistoryAnswer, RequestError>)
    /// The origin has acknowledged: from here on the feed tells of this conversation.
    case subscribed(conversation: String, generation: Int)
    /// The same of a user's list: what is read of it from here on, the feed continues.
    case subscribedList(user: String)
    /// Every subscription of that generation has ended, and those that are still wanted are being
    /// asked for again. Feed events behind this belong to the next one.
    case lapsed(generation: Int)
    /// Another gateway of the origin was asked to disconnect a user, and so is every one. What was
    /// told while the feed was away comes before `state` says that it is back.
    case disconnect(user: String, mayComeBack: Bool)
    /// Somebody's question or write has shown that this part of a log is damaged; without a part,
    /// that all of it is whole again.
    case damaged(conversation: String, part: String?)
    /// `online` while the feed is live and the history can be asked, otherwise `offline`.
    case state(UpstreamState)
}

/// What the loop asks of an upstream and waits for.
package enum UpstreamCall: Sendable {
    /// A write; answered by `performed` with the same token.
    case perform(Operation, by: Caller, token: UInt64)
    /// A question about history; answered by `answered` with the same token.
    case ask(HistoryQuery, token: UInt64)

    /// Whom it is for, as far as an upstream is told: users take turns at writes.
    var payer: Payer {
        switch self {
        case .perform(_, let caller, _): caller.payer
        case .ask: .gateway
        }
    }
}

/// A log of which a part is gone, or contradicts the others, is never answered as whole: each
/// question about it, and each write, fails with `RequestError.damaged(part)`, where the part is a
/// word of the upstream's for the operator, and `heads` names it beside the heads of the others.
/// The engine then counts the conversation as cut off, asks again from time to time, and takes the
/// first answer that succeeds for the end of it.
///
/// A chat backend as the gateway sees it: a feed of changes, a history to ask, and a door for
/// writes. An implementation brings its own threads; the calls come from the loop and don't block,
/// and everything that it has to say goes to `deliver`, from any thread.
package protocol Upstream: AnyObject, Sendable {
    /// The word of the configuration: `embedded`, `redis`, …
    var kind: String { get }

    /// What went wrong so far. From any thread.
    var faults: UpstreamFaults { get }

    /// Begins to deliver. Called once.
    func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void)

    /// Takes all that a turn of the loop asks for, in its order: what comes together can share what
    /// it costs to begin, and a commit. The other calls of the turn may come before it.
    func submit(_ calls: [UpstreamCall])

    /// Asks for the feed of a conversation; answered by `subscribed`, again in each generation,
    /// until `unsubscribe`.
    func subscribe(_ conversation: String)

    /// Nobody watches the conversation any more. Events of it may still come for a moment.
    func unsubscribe(_ conversation: String)

    /// Asks to be told of conversations that come into a user's list or leave it; as `subscribe`,
    /// but without an answer.
    func subscribeList(of user: String)

    /// Nobody watches the user's list any more.
    func unsubscribeList(of user: String)

    /// Somebody took values from `head`, and the log seems to have lost them. If it still is in the
    /// epoch of `head` and ends below its rev, or has another mark there, it gets a new epoch;
    /// otherwise nothing happens, so that neither who comes second does harm, nor who is so far
    /// behind that the log keeps no mark of that rev any more. Answered by
    /// `answered` with the `heads` of this one conversation as they are then.
    func forkEpoch(_ head: Head, conversation: String, token: UInt64)

    /// Whether other gateways may have connections of the same users.
    var reachesOthers: Bool { get }

    /// Has every other gateway of the origin disconnect a user, those too that are cut off and come
    /// back within an hour. Answered by `performed` with `done`, or `origin_unavailable` if the
    /// origin can't be told. Not to be called where there are no others.
    func disconnect(_ user: String, mayComeBack: Bool, token: UInt64)

    /// Tells everybody that watches the conversation; may be lost.
    func publish(_ event: FeedEvent)

    /// Holds what is written from here on to these limits.
    func adopt(_ limits: LogLimits)

    /// Finishes what was asked for, and stops. Returns when nothing more will be delivered.
    func stop()
}

/// What an upstream does that can't lose anything.
extension Upstream {
    package var faults: UpstreamFaults { UpstreamFaults() }

    package var reachesOthers: Bool { false }

    package func disconnect(_ user: String, mayComeBack: Bool, token: UInt64) {}

    package func unsubscribe(_ conversation: String) {}

    package func subscribeList(of user: String) {}

    package func unsubscribeList(of user: String) {}

    package func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        submit([.ask(.heads([conversation]), token: token)])
    }
}

/// The limits that writes are held to. A reload sets them on the loop, the threads of an upstream
/// read them.
final class PresentLimits: Sendable {
    private let present: Mutex<LogLimits>

    init(_ limits: LogLimits) { present = Mutex(limits) }

    var value: LogLimits {
        get { present.withLock { $0 } }
        set { present.withLock { $0 = newValue } }
    }
}
