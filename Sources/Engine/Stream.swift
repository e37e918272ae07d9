import Chat
import Wire

/// The gateway's position in one conversation's log, and who watches it. Owned by the engine,
/// touched on the loop only; dropped when nobody has watched it for a while.
final class Stream {
    let id: String
    /// nil while the store is asked for it.
    var state: State?
    /// Who gets its messages.
    private(set) var subscribers: [Subscriber] = []
    /// Requests that came before it was loaded.
    var waiting: [Call] = []
    /// Answers that were read at a later moment than the stream has reached: the feed brings the
    /// changes between the two within this turn or the next.
    var parked: [(token: UInt64, answer: Answer)] = []
    /// The watchers of conversation lists are to be told of it once it is loaded.
    var isToBeAnnounced = false
    /// Events that came while it was being loaded.
    var early: [FeedEvent] = []
    var lastUsed: Timestamp

    struct State {
        /// The newest change known; the stream stands at `head.rev`.
        var head: Head
        var record: Record
        /// Who takes part, as a set.
        var members: Set<ID>
        /// The newest message that is not deleted.
        var last: EncodedMessage?
        /// Questions with this number and later ones were asked of this log.
        var firstToken: UInt64
    }

    struct Subscriber {
        let session: Session
    }

    /// Message changes of this turn that were not sent yet.
    struct Batch {
        var deltas: [EncodedDelta] = []
        var covers = Coverage()
        /// The stream's position before the first of them.
        var prev = 0
        var bytes = 0
        /// A batch above this goes out as a frame of its own: what one write of the socket takes.
        static let limit = 65_536
    }
    var batch = Batch()
    /// The list entry of the conversation changed in this turn.
    var isListed = false
    var isNewToLists = false
    /// The last message was deleted; the store knows the one before it.
    var needsLast = false
    /// The store is asked for it.
    var isAskingLast = false

    init(id: String, at now: Timestamp) {
        self.id = id
        lastUsed = now
    }

    /// The store was asked and everything that waits for the answer can be dropped with it.
    var isIdle: Bool {
        subscribers.isEmpty && waiting.isEmpty && parked.isEmpty && state != nil && !isListed
            && !isAskingLast
    }

    func add(_ session: Session) {
        session.subscriptions.append(Subscription(stream: self, place: subscribers.count))
        subscribers.append(Subscriber(session: session))
    }

    /// - Complexity: O(subscriptions of two sessions), whatever the number of subscribers.
    func remove(_ session: Session) {
        guard let at = session.subscription(to: self) else { return }
        let place = session.subscriptions[at].place
        session.subscriptions.remove(at: at)
        let last = subscribers.removeLast()
        guard place < subscribers.count else { return }
        subscribers[place] = last
        if let index = last.session.subscription(to: self) {
            last.session.subscriptions[index].place = place
        }
    }

    func removeAll() -> [Session] {
        let sessions = subscribers.map(\.session)
        for session in sessions {
            session.subscriptions.removeAll { $0.stream === self }
        }
        subscribers.removeAll()
        return sessions
    }
}
