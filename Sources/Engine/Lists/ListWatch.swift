import Chat
import Wire

/// A connection's view of its user's list of conversations. It ensures that no event after an
/// answer shows an older state, and no answer an older state than an earlier event. Part of a
/// session.
struct ListWatch {
    /// Whether changes of the list are sent.
    var isWatching = false
    /// Whether it asked for unread totals.
    var asksUnread = false
    /// The unread totals that it was sent last.
    var toldUnread: UnreadTold?
    /// Requests under way whose answers show conversations.
    private var reads = 0
    /// Events held until those are answered; the latest of each conversation.
    private var held: [Broadcast] = []
    /// Heads that an answer showed of conversations whose event is still due: an event that shows
    /// no more is dropped.
    private var shown: [ID: Head] = [:]

    /// Whether an answer that shows conversations is under way.
    var isBeingRead: Bool { reads > 0 }

    /// A request begins whose answer shows conversations.
    mutating func beginRead() { reads += 1 }

    /// Its answer was sent.
    /// - Returns: the events that were held for it.
    mutating func endRead() -> [Broadcast] {
        reads -= 1
        guard reads == 0 else { return [] }
        defer { held = [] }
        return held
    }

    /// Whether to send an event about the list now; otherwise it is held, or has nothing new.
    mutating func admits(_ event: Broadcast) -> Bool {
        guard reads == 0 else {
            held.removeAll { $0.conversation == event.conversation }
            held.append(event)
            return false
        }
        return shown.removeValue(forKey: event.conversation).map { !event.shows($0) } ?? true
    }

    /// Drops held events.
    mutating func dropHeld() { held = [] }

    /// Drops held events of conversations that an answer does not have any more.
    /// - Returns: whether there were any.
    mutating func dropHeld(missingFrom heads: [ID: Head]) -> Bool {
        let count = held.count
        held.removeAll { heads[$0.conversation] == nil }
        return held.count < count
    }

    /// Drops a held event that shows less than an answer with a token. Sent behind the answer, it
    /// would take the client back, whose token says that it knows more.
    mutating func dropHeld(_ conversation: ID, before head: Head) {
        held.removeAll { $0.conversation == conversation && $0.shows(before: head) }
    }

    /// Forgets what it was shown.
    mutating func forgetShown() { shown = [:] }

    // MARK: - Shown heads

    /// Whether an answer showed a newer change of the same log than this head.
    func wasShown(_ conversation: ID, beyond head: Head) -> Bool {
        shown[conversation].map { $0.epoch == head.epoch && $0.rev > head.rev } ?? false
    }

    /// Whether an answer showed more than an event of a stream that is behind.
    func isAhead(of event: Broadcast) -> Bool {
        shown[event.conversation].map(event.shows(before:)) ?? false
    }

    /// An answer shows the session this, so an equal event need not be sent.
    /// - Parameter isListed: whether the conversation is known to be in the list.
    mutating func noteShown(
        _ conversation: ID, _ head: Head, isListed: Bool, _ stream: Stream?
    ) {
        held.removeAll { $0.conversation == conversation && $0.shows(head) }
        let isAnnounced =
            stream.map { $0.state != nil && !$0.entry.isListed && !$0.isOpen } ?? false
        if !isListed || !isAnnounced { shown[conversation] = head }
    }
}
