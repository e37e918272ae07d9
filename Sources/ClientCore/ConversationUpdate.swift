import Chat
import Wire

/// Something that changed in a conversation that is subscribed to, in the order in which it
/// happened.
public enum ConversationUpdate: Sendable {
    /// The subscription begins, or this listener was so far behind that it is told in short: what
    /// is held now, which may be nothing, replaces all there was.
    case began(Snapshot)
    /// A session began, and the subscription was resumed: these changes and gaps lie between what
    /// was held before and the present.
    case resumed(MessagesFrame)
    /// Something changed: messages, gaps, or the conversation's own record.
    case changed(MessagesFrame)
    /// A page that an object for views asked for, under its number. It comes to no other listener.
    case page(Int, Result<MessagesFrame, ClientError>)
    /// Values that are not held: the answer to one's own send, edit or delete.
    case shown([Message])
    /// Values that were only shown, and that the log turned out not to have: it lost a part.
    case takenBack([TakenBack])
    /// Places that are held no more, since the client keeps only so much of what nobody looks at.
    case dropped(Coverage)
    /// The messages that are still being sent, oldest first.
    case drafts([Draft])
    /// The edits and deletions that are not confirmed, oldest first.
    case changes([Change])
    /// The log was recreated, or the subscription has ended: what was held counts no more.
    case forgotten
    /// The subscription can't be had: for good if `mayRetry` of the error is false.
    case failed(ClientError)
    /// The subscription has ended for good, and why. It comes behind `failed`.
    case ended(Ending)
    /// Whether the session is interrupted (`false`), or what is held is live (`true`).
    case live(Bool)
    /// Whether there may be changes that the gateway does not know of.
    case open(Bool)
    /// Somebody has read up to there.
    case read(user: String, seq: Int)
    /// Somebody types, or has stopped. Word of `begin` counts for 5 s: where no other comes,
    /// `finished` is told then.
    case typing(user: String, TypingState)

    /// What changed in the log, where this tells of that: live, or what was missed in an outage.
    public var frame: MessagesFrame? {
        switch self {
        case .resumed(let frame), .changed(let frame): frame
        default: nil
        }
    }

    /// How many messages it carries.
    package var messageCount: Int {
        switch self {
        case .began(let snapshot): snapshot.messages.count + snapshot.shown.count
        case .resumed(let frame), .changed(let frame): frame.messages.count
        case .shown(let messages): messages.count
        case .drafts(let drafts): drafts.count
        default: 1
        }
    }

    /// A value that was shown, and that the log does not have.
    public struct TakenBack: Sendable {
        /// The value.
        public var message: Message
        /// What stands there instead, such as an earlier value; nil for nothing.
        public var instead: Message?
    }

    /// What a client holds of a conversation at a moment.
    public struct Snapshot: Sendable {
        /// The messages held, oldest first.
        public var messages: [Message]
        /// Values that are only shown, oldest first.
        public var shown: [Message]
        /// The places held.
        public var covers: Coverage
        /// Where the log stands; nil if nothing is held.
        public var head: Head?
        /// The number of the change up to which what is held is known.
        public var asOf: Int
        /// The conversation's own record.
        public var record: Conversation?
        /// The gaps from the oldest place held up to the head.
        public var gaps: [Gap]
        /// Rises whenever the client forgot what it held: a list that shows something of an
        /// earlier generation begins anew.
        public var generation: Int
    }
}

extension ConversationUpdate.Snapshot {
    init(_ holder: Holder) {
        messages = holder.held.sorted { $0.key < $1.key }.map(\.value)
        shown = holder.shown.sorted { $0.key < $1.key }.map(\.value)
        covers = holder.runs
        head = holder.head
        asOf = holder.asOf
        record = holder.record
        gaps = holder.gaps
        generation = holder.generation
    }
}
