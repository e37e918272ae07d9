import Chat
import Wire

/// What a connection watches of its user's list of conversations, and what it was shown of it: no
/// event behind an answer says less, and no answer is older than an event before it. Part of a
/// session.
struct ListWatch {
    /// Changes of the list are pushed.
    var isWatching = false
    /// It is told how much its user has not read.
    var asksUnread = false
    /// What it was told of that last.
    var toldUnread: UnreadTold?
    /// Requests under way whose answers show conversations.
    private var reads = 0
    /// What is to be told after those answers; the latest for each conversation.
    private var held: [Broadcast] = []
    /// What a list showed of conversations that are still to be announced: an event that says no
    /// more is not sent.
    private var shown: [ID: Head] = [:]

    /// An answer that shows conversations is under way.
    var isBeingRead: Bool { reads > 0 }

    /// A request whose answer shows conversations.
    mutating func beginRead() { reads += 1 }

    /// It is answered.
    /// - Returns: the events that waited for it.
    mutating func endRead() -> [Broadcast] {
        reads -= 1
        guard reads == 0 else { return [] }
        defer { held = [] }
        return held
    }

    /// Whether an event about the list goes out now; otherwise it waits, or says nothing new.
    mutating func admits(_ event: Broadcast) -> Bool {
        guard reads == 0 else {
            held.removeAll { $0.conversation == event.conversation }
            held.append(event)
            return false
        }
        return shown.removeValue(forKey: event.conversation).map { !event.shows($0) } ?? true
    }

    /// What waits is not to be told.
    mutating func dropHeld() { held = [] }

    /// What it was shown says nothing any more.
    mutating func forgetShown() { shown = [:] }

    // MARK: - What it was shown

    /// Whether an answer told of a change of the same log that stands above this head.
    func wasShown(_ conversation: ID, beyond head: Head) -> Bool {
        shown[conversation].map { $0.epoch == head.epoch && $0.rev > head.rev } ?? false
    }

    /// Whether an answer told more than an event of a stream that is behind.
    func isAhead(of event: Broadcast) -> Bool {
        shown[event.conversation].map(event.shows(before:)) ?? false
    }

    /// What the session is shown now need not be told to it as an event again.
    /// - Parameter isListed: the conversation is known to be in the list.
    mutating func noteShown(
        _ conversation: ID, _ head: Head, isListed: Bool, _ stream: Stream?
    ) {
        held.removeAll { $0.conversation == conversation && $0.shows(head) }
        let isAnnounced =
            stream.map { $0.state != nil && !$0.entry.isListed && !$0.isOpen } ?? false
        if !isListed || !isAnnounced { shown[conversation] = head }
    }
}
