import Chat
import Wire

/// What lists show of a conversation and what their watchers were sent, to avoid sending the same
/// twice: the feed, a read of the list and a catch-up may each bring it.
struct ListEntry {
    /// It changed in this turn; its event is due at the end.
    var isListed = false
    /// To be sent to the watchers of lists once it is loaded.
    var isToBeAnnounced = false
    /// How many watched lists contain it, if the feed is subscribed to per conversation.
    var listed = 0
    /// The last message was deleted; the store knows the one before it.
    var needsLast = false
    /// The store was asked for it.
    var isAskingLast = false
    /// When the stream last reached the present of a log elsewhere, as a number of all streams'
    /// arrivals; 0: never.
    var arrivedAt = 0
    /// It was added to a list since the last event.
    var isNew = false
    /// The feed or an answer has shown it in a list. An answer of the origin that there is no such
    /// conversation may be from before.
    var isReported = false
    /// The state that all watchers were sent last; nil if one of them was not.
    private var sent: Sent?

    private struct Sent: Equatable {
        let head: Head
        let record: Int
        let last: Int?
    }

    /// No event is pending, and no list contains it.
    var isIdle: Bool { !isListed && !isAskingLast && listed == 0 }

    /// Records that the state is sent now.
    /// - Returns: its type; nil if it was sent before.
    mutating func tell(_ state: Stream.State) -> DeltaType? {
        let type: DeltaType = isNew ? .inserted : .updated
        isNew = false
        let new = Sent(head: state.head, record: state.record.rev, last: state.last?.rev)
        guard sent != new else { return nil }
        sent = new
        return type
    }

    /// The next change of the log was a reaction, which lists don't tell: watchers who know the
    /// state before it need no event for it.
    /// - Parameter last: the rev of the last message before it. If watchers were sent another one,
    ///   they need the event.
    mutating func skip(to state: Stream.State, from last: Int?) {
        guard let sent, sent.head.epoch == state.head.epoch, sent.head.rev == state.head.rev - 1,
            sent.last == last
        else { return }
        self.sent = Sent(head: state.head, record: sent.record, last: state.last?.rev)
    }

    /// An answer showed it to a watcher. If the state was different, perhaps of a lost branch, the
    /// next event is sent even if nothing changed since the last one.
    mutating func noteShown(_ head: Head) {
        isReported = true
        if sent?.head != head { sent = nil }
    }

    /// It is now in a list whose watchers were not sent it.
    mutating func begin() { sent = nil }
}

extension Stream {
    /// The conversation was added to the user's list.
    /// - Parameter isNew: whether just now.
    /// - Returns: whether it can be sent as it is known; otherwise it is sent once it is. The list
    ///   that the user was given may be older than the stream.
    func came(into user: ID, isNew: Bool) -> Bool {
        entry.begin()
        guard let state else {
            entry.isNew = entry.isNew || isNew
            entry.isToBeAnnounced = true
            return false
        }
        // If the list's feed came before the log's, the change that adds the user sends it. While
        // the stream is behind, its arrival at the present does.
        let isKnown =
            state.members.contains(user) && !isOpen && !entry.isListed && !entry.needsLast
        entry.isNew = entry.isNew || isNew && !isKnown
        return isKnown
    }
}
