import Chat
import Ports
import Wire

/// The gateway's position in one conversation's log, and who watches it. Owned by the engine,
/// touched on the loop only; dropped when nobody has watched it for a while.
final class Stream {
    let id: String
    /// nil while the store is asked for it.
    var state: State?
    /// Who gets its messages.
    private(set) var subscribers: [Subscriber] = []
    /// What waits for it.
    var waits = Waits()
    var lastUsed: Timestamp
    /// The log lives elsewhere, and this is what is known of it here.
    var replica: Replica?
    /// Answers to subscriptions at this position, as they were encoded: in a storm many ask the
    /// same.
    var encoded = EncodedResumes()
    /// The latest changes, for those who come back soon. Of a log in the same file only.
    var recent = RecentChanges()
    let accounting = ConversationAccounting()
    /// How users read it.
    var reading = Reading()
    /// How lists show it.
    var entry = ListEntry()
    /// What its subscribers were told, and are about to be; changed by `Fanout` alone.
    var outgoing = Fanout.Outgoing()
    /// Whether it may speak; changed by `Pacing` alone.
    var pace = Pacing.Pace()

    struct State {
        /// The newest change known.
        var head: Head
        /// Where the stream stands: every change up to here is known. Of a log in the same file it
        /// is the head.
        var position: Head
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
        /// Places that it was told are missing, and that it is to be sent once they are there.
        var owed = Coverage()
    }

    /// What waits for it to be loaded, or to move.
    struct Waits {
        /// Requests that came before it was loaded, or that need something of the origin.
        var calls: [Call] = []
        /// Answers that were read at a later moment than the stream has reached: the feed brings
        /// the changes between the two within this turn or the next.
        var answers: [(token: UInt64, answer: Answer)] = []
        /// Answers to writes that wait for their changes.
        var replies: [HeldReply] = []
        /// Events that came while it was being loaded.
        var events: [FeedEvent] = []

        /// Nobody waits.
        var isEmpty: Bool { calls.isEmpty && answers.isEmpty && replies.isEmpty }

        /// The requests, which do not wait any more.
        mutating func takeCalls() -> [Call] {
            defer { calls = [] }
            return calls
        }

        /// The events, which do not wait any more.
        mutating func takeEvents() -> [FeedEvent] {
            defer { events = [] }
            return events
        }
    }

    /// What is known of how users read it.
    struct Reading {
        /// For answers while the origin is away.
        var readership = Readership()
        /// Changes that were told, for those who count what is unread, until they were counted.
        var unreadChanges: [LogChange] = []
        /// How many readings of lists had begun when the feed began to tell of it.
        var followedSince = Int.max
    }

    init(id: String, at now: Timestamp) {
        self.id = id
        lastUsed = now
    }

    /// The store has it like this.
    /// - Parameters:
    ///   - seen: the newest change that values were taken from, where that is not the position.
    ///   - question: the latest one that was asked before.
    func begin(_ loaded: Loaded, seen: Head? = nil, after question: UInt64) {
        // Beside the set, the names would take as much memory again.
        let record = replica == nil ? loaded.record.brief : loaded.record
        state = State(
            head: seen ?? loaded.head, position: loaded.head, record: record,
            members: Set(loaded.record.participants.map(\.id)), last: loaded.lastMessage,
            firstToken: question + 1)
        outgoing.begin(at: loaded.head.rev)
    }

    /// Slot 0 has another value.
    /// - Parameters:
    ///   - step: who left and joined; nil if the record names everybody.
    ///   - isNew: the log begins with it.
    /// - Returns: who took part and does not any more, as far as no step says it.
    @discardableResult
    func take(_ record: Record, _ step: RecordStep?, isNew: Bool) -> Set<ID> {
        var gone: Set<ID> = []
        state?.record = record
        if let step {
            for user in step.removed { state?.members.remove(user.id) }
            for user in step.joined { state?.members.insert(user.id) }
        } else {
            let members = Set(record.participants.map(\.id))
            gone = state?.members.subtracting(members) ?? []
            state?.members = members
        }
        entry.isNew = entry.isNew || isNew
        return gone
    }

    /// A message has another value, which may be the last one.
    func updateLast(_ message: EncodedMessage) {
        guard let state else { return }
        if message.isDeleted {
            guard state.last?.seq == message.seq else { return }
            // The one before it is the store's to know, and is asked for when somebody is told.
            self.state?.last = nil
            entry.needsLast = true
        } else if message.seq >= state.last?.seq ?? 0,
            // What fills a hole need not be the last one that there is.
            !entry.needsLast || message.seq >= state.head.seq
        {
            self.state?.last = message
            entry.needsLast = false
        }
    }

    /// The store was asked and everything that waits for the answer can be dropped with it.
    var isIdle: Bool {
        subscribers.isEmpty && waits.isEmpty && (state != nil || replica?.isLoaded == true)
            && entry.isIdle
    }

    /// Whether a cache can tell that this is the last message: it holds all above it.
    func holds(last message: EncodedMessage?) -> Bool {
        guard let replica, let head = state?.head else { return true }
        return !replica.copy.isDetached
            && replica.copy.held.contains(message?.seq ?? head.floor, head.seq)
    }

    /// There may be changes above the position that nobody here knows.
    var isOpen: Bool { replica.map { !$0.isLive } ?? false }

    /// What an answer about its messages rests on.
    func position(_ state: State, at now: Timestamp) -> StreamPosition {
        StreamPosition(
            head: state.head, asOf: state.position.rev, held: replica?.copy.held, isOpen: isOpen,
            now: now, since: replica?.awaySince ?? now)
    }

    /// Subscribers that are owed some of the places, beside those that they are owed. What was lost
    /// at once to many is owed alike.
    func owing(_ places: Coverage) -> [(owed: Coverage, sessions: [Session])] {
        var groups: [(owed: Coverage, sessions: [Session])] = []
        for subscriber in subscribers where !subscriber.owed.isEmpty {
            let owed = subscriber.owed.intersection(places)
            if owed.isEmpty { continue }
            if let group = groups.firstIndex(where: { $0.owed == owed }) {
                groups[group].sessions.append(subscriber.session)
            } else {
                groups.append((owed, [subscriber.session]))
            }
        }
        return groups
    }

    /// Everybody who was owed the places has been sent them.
    func paid(_ places: Coverage) {
        guard replica?.isOwed == true else { return }
        for index in subscribers.indices where !subscribers[index].owed.isEmpty {
            subscribers[index].owed = subscribers[index].owed.subtracting(places)
        }
        replica?.note(isOwed: subscribers.contains { !$0.owed.isEmpty })
    }

    /// The session is to be sent the places.
    func owe(_ places: Coverage, to session: Session) {
        guard replica != nil, let at = session.subscription(to: self) else { return }
        subscribers[session.subscriptions[at].place].owed = places
        if !places.isEmpty { replica?.note(isOwed: true) }
    }

    func add(_ session: Session, since: Journal.Serial = 0) {
        session.subscriptions.append(
            Subscription(stream: self, place: subscribers.count, since: since))
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
