import Chat
import Ports
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
    /// What it was told of single conversations.
    var toldReading = ToldReading()
    /// Requests under way whose answers show conversations.
    private var reads = 0
    /// Events held until those are answered; the latest of each conversation.
    private var held: [Broadcast] = []
    /// What answers showed of conversations whose stream may know less, or whose event is due.
    private var shown: [ID: Shown] = [:]

    /// What an answer of the origin showed of a conversation.
    struct Shown {
        let head: Head
        /// The next event is sent even if it shows nothing else than the answer did: the session
        /// may have been shown something else before, or was told since that the conversation left.
        var isDue: Bool
        /// How often streams had reached the present when the answer came.
        let arrivals: Int
        /// How often lists had been read when the answer came.
        let readings: Int
    }

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
        guard event.showsConversation else {
            shown[event.conversation]?.isDue = true
            return true
        }
        return shown.removeValue(forKey: event.conversation)
            .map { $0.isDue || !event.shows($0.head) } ?? true
    }

    /// Drops held events about conversations that an answer no longer has. Sent behind the answer,
    /// an event from before it would bring them back.
    /// - Parameter heads: the answer's conversations; none if the client no longer watches.
    /// - Returns: whether there were any.
    @discardableResult
    mutating func dropHeld(missingFrom heads: [ID: Head] = [:]) -> Bool {
        let count = held.count
        held.removeAll { heads[$0.conversation] == nil }
        return held.count < count
    }

    /// Drops held events that show less of a log than an answer does. What followed them in that
    /// log is reported too, but the watch or the connection may end before, and the answer's token
    /// says that the client knows it.
    mutating func dropHeld(before views: [ConversationView]) {
        guard !held.isEmpty else { return }
        for view in views {
            let id = view.record.id.id
            held.removeAll { $0.conversation == id && $0.shows(before: view.head) }
        }
    }

    /// Forgets what it was shown.
    mutating func forgetShown() { shown = [:] }

    // MARK: - What answers showed

    /// Whether an event is older than an answer, or may be: it shows less, or another log, and its
    /// stream has not caught up since. Sent behind the answer, it would take the client back, whose
    /// token says that it knows more.
    func isOutdated(_ event: Broadcast, _ stream: Stream?) -> Bool {
        guard let shown = shown[event.conversation] else { return false }
        return Self.isOutdated(event, stream, by: shown)
    }

    private static func isOutdated(
        _ event: Broadcast, _ stream: Stream?, by shown: Shown
    ) -> Bool {
        guard stream?.entry.arrivedAt ?? 0 <= shown.arrivals else { return false }
        if event.showsConversation { return !event.shows(atLeast: shown.head) }
        // A departure is news if the log has a newer record.
        guard let state = stream?.state, state.head.epoch == shown.head.epoch else { return true }
        return state.record.rev <= shown.head.rev
    }

    /// Whether a reading of the list may be older than an answer that showed the conversation.
    func wasShown(_ conversation: ID, after reading: Int) -> Bool {
        shown[conversation].map { $0.readings >= reading } ?? false
    }

    /// An answer shows the session a conversation, so nothing older is sent behind it; and nothing
    /// equal, unless the session may know something else.
    /// - Parameter isListed: whether the conversation is known to be in the list.
    /// - Returns: whether something older was held, and is dropped.
    mutating func noteShown(
        _ conversation: ID, _ new: Shown, isListed: Bool, _ stream: Stream?
    ) -> Bool {
        let count = held.count
        held.removeAll { $0.conversation == conversation && Self.isOutdated($0, stream, by: new) }
        let isDropped = held.count < count
        if !new.isDue { held.removeAll { $0.conversation == conversation && $0.shows(new.head) } }
        let isAnnounced =
            stream.map { stream in
                !stream.isOpen && !stream.entry.isListed && !isDropped
                    && stream.state.map { $0.head.isAtLeast(new.head) } == true
            } ?? false
        if !isListed || !isAnnounced {
            shown[conversation] = new
        } else if new.isDue {
            shown[conversation]?.isDue = true
        }
        return isDropped
    }
}

extension Head {
    /// Whether it is of the same log as another one, and not before it.
    func isAtLeast(_ other: Head) -> Bool { epoch == other.epoch && rev >= other.rev }
}
