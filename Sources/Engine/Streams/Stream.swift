import Chat
import Ports
import Wire

/// The gateway's position in one conversation's log, and its subscribers. Owned by the engine,
/// touched on the loop only; evicted when it has had no subscribers for a while.
final class Stream {
    let id: String
    /// Nil while the store is being asked.
    var state: State?
    /// The sessions that get its messages.
    private(set) var subscribers: [Subscriber] = []
    /// Calls, answers and events that wait for it.
    var waits = Waits()
    var lastUsed: Timestamp
    /// The replica's state if the log lives elsewhere.
    var replica: Replica?
    /// Encoded answers to subscriptions at this position: in a storm many clients ask the same.
    var encoded = EncodedResumes()
    /// The latest changes, for clients that come back soon.
    var recent = RecentChanges()
    let accounting = ConversationAccounting()
    /// How users read it.
    var reading = Reading()
    /// How lists show it.
    var entry = ListEntry()
    /// Sent and pending changes of its subscribers; changed only by `Fanout`.
    @exclusivity(unchecked) var outgoing = Fanout.Outgoing()
    /// Whether it may send; changed only by `Pacing`.
    @exclusivity(unchecked) var pace = Pacing.Pace()

    struct State {
        /// The newest change known.
        var head: Head
        /// The stream's position: every change up to here is known. Equals the head if the log is
        /// in the same file.
        var position: Head
        var record: Record
        /// The participants as a set.
        var members: Set<ID>
        /// The newest message that is not deleted.
        var last: EncodedMessage?
        /// Questions with this number or a later one were asked about this log.
        var firstToken: UInt64
    }

    /// Whether the store's copy of the log has not changed since the question with this token.
    func isCurrent(_ token: UInt64) -> Bool {
        replica.map { token > $0.copy.lastChange } ?? true
    }

    struct Subscriber {
        let session: Session
        /// Slots that a gap declared to it, and that it is sent once they are here.
        var owed = Coverage()
    }

    /// The mark that the log had at a change, as far as it is known here.
    func mark(at rev: Int) -> String? {
        guard let state else { return nil }
        for head in [state.position, state.head] where head.rev == rev && !head.mark.isEmpty {
            return head.mark
        }
        return recent.head(at: rev).flatMap { $0.epoch == state.head.epoch ? $0.mark : nil }
    }

    /// Everything that waits until the stream is loaded or moves.
    struct Waits {
        /// Requests that came before it was loaded, or that need something from the origin.
        var calls: [Call] = []
        /// The lowest change that one of them waits for.
        private var reach = Int.max
        /// Answers that were read later than the stream's position: the feed brings the changes
        /// between within this turn or the next.
        var answers: [(token: UInt64, answer: Answer)] = []
        /// Answers to writes that wait for their changes.
        var replies: [HeldReply] = []
        /// Events that came while it was loading.
        var events: [FeedEvent] = []

        /// Whether nobody waits.
        var isEmpty: Bool { calls.isEmpty && answers.isEmpty && replies.isEmpty }

        /// One of the requests waits for this change.
        mutating func await(_ rev: Int) { reach = min(reach, rev) }

        /// Whether a request waits for a change up to this one.
        func isReached(by rev: Int) -> Bool { reach <= rev }

        /// Takes out the requests.
        mutating func takeCalls() -> [Call] {
            defer { (calls, reach) = ([], .max) }
            return calls
        }

        /// Takes out the events.
        mutating func takeEvents() -> [FeedEvent] {
            defer { events = [] }
            return events
        }
    }

    /// How users read the conversation.
    struct Reading {
        /// For answers while the origin is away.
        var readership = Readership()
        /// Changes from the feed that unread counts have not taken yet.
        var unreadChanges: [LogChange] = []
        /// How many readings of lists had begun when the feed began to cover this conversation.
        var followedSince = Int.max
    }

    init(id: String, at now: Timestamp) {
        self.id = id
        lastUsed = now
    }

    /// Takes the conversation as the store has it.
    /// - Parameters:
    ///   - seen: the newest change that values were taken from, where that is not the position.
    ///   - question: the latest one that was asked before.
    func begin(_ loaded: Loaded, seen: Head? = nil, after question: UInt64) {
        // The set has the names; the record's list would take as much memory again.
        let record = replica == nil ? loaded.record.brief : loaded.record
        state = State(
            head: seen ?? loaded.head, position: loaded.head, record: record,
            members: Set(loaded.record.participants.map(\.id)), last: loaded.lastMessage,
            firstToken: question + 1)
        outgoing.begin(at: loaded.head.rev)
    }

    /// Slot 0 has a new value.
    /// - Parameters:
    ///   - step: who left and joined; nil if the record names everybody.
    ///   - isNew: the log begins with it.
    /// - Returns: participants who are gone although no step says so.
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

    /// A message has a new value; it may be the last message.
    func updateLast(_ message: EncodedMessage) {
        guard let state else { return }
        if message.isDeleted {
            guard state.last?.seq == message.seq else { return }
            // The store knows the one before; it is asked when a list event needs it.
            self.state?.last = nil
            entry.needsLast = true
        } else if message.seq >= state.last?.seq ?? 0,
            // A message that fills a hole need not be the last one.
            !entry.needsLast || message.seq >= state.head.seq
        {
            self.state?.last = message
            entry.needsLast = false
        }
    }

    /// Whether it was loaded and nothing would be lost by evicting it.
    var isIdle: Bool {
        subscribers.isEmpty && waits.isEmpty && (state != nil || replica?.isLoaded == true)
            && entry.isIdle
    }

    /// Whether the cache proves that this is the last message: it holds everything above.
    func holds(last message: EncodedMessage?) -> Bool {
        guard let replica, let head = state?.head else { return true }
        return !replica.copy.isDetached
            && replica.copy.held.contains(message?.seq ?? head.floor, head.seq)
    }

    /// Whether there may be changes above the position that this gateway does not know.
    var isOpen: Bool { replica.map { !$0.isLive } ?? false }

    /// The basis of an answer about its messages.
    func position(_ state: State, at now: Timestamp) -> StreamPosition {
        StreamPosition(
            head: state.head, asOf: state.position.rev, held: replica?.copy.held, isOpen: isOpen,
            now: now, since: replica?.awaySince ?? now)
    }

    /// The subscribers that are owed some of these slots, grouped by which: losses at the same time
    /// are mostly alike.
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

    /// Everyone who was owed these slots was sent them.
    func paid(_ places: Coverage) {
        guard replica?.isOwed == true else { return }
        for index in subscribers.indices where !subscribers[index].owed.isEmpty {
            subscribers[index].owed = subscribers[index].owed.subtracting(places)
        }
        replica?.note(isOwed: subscribers.contains { !$0.owed.isEmpty })
    }

    /// Sets what the session is owed.
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
