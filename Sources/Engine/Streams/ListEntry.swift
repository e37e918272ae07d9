import Chat
import Wire

/// How lists show a conversation, and what those who watch them were told of it, so that nobody is
/// told the same twice: the feed, a reading of the list and a catch-up may each come with it.
struct ListEntry {
    /// It changed in this turn, and is to be told at its end.
    var isListed = false
    /// The watchers of lists are to be told of it once it is loaded.
    var isToBeAnnounced = false
    /// How many watched lists it stands in, where the feed has to be asked for each conversation.
    var listed = 0
    /// The last message was deleted; the store knows the one before it.
    var needsLast = false
    /// The store is asked for it.
    var isAskingLast = false
    /// It has come into somebody's list since they were told.
    var isNew = false
    /// What they were all told last; nil once somebody was not.
    private var sent: Sent?

    private struct Sent: Equatable {
        let head: Head
        let record: Int
        let last: Int?
    }

    /// Nothing waits to be told, and no list has it.
    var isIdle: Bool { !isListed && !isAskingLast && listed == 0 }

    /// How the state is told now.
    /// - Returns: nil if it was told before.
    mutating func tell(_ state: Stream.State) -> DeltaType? {
        let type: DeltaType = isNew ? .inserted : .updated
        isNew = false
        let new = Sent(head: state.head, record: state.record.rev, last: state.last?.rev)
        guard sent != new else { return nil }
        sent = new
        return type
    }

    /// An answer has shown it to somebody who watches. If it was another state, perhaps of a branch
    /// that is lost, what is told next is news.
    mutating func noteShown(_ head: Head) { if sent?.head != head { sent = nil } }

    /// Somebody's list has it who was not told.
    mutating func begin() { sent = nil }
}

extension Stream {
    /// The conversation came into the user's list.
    /// - Parameter isNew: just now.
    /// - Returns: whether it can be told as it is known; otherwise it is told once that is so. The
    ///   list that the user was given may be older than the stream.
    func came(into user: ID, isNew: Bool) -> Bool {
        entry.begin()
        guard let state else {
            entry.isNew = entry.isNew || isNew
            entry.isToBeAnnounced = true
            return false
        }
        // Where the list told of it before the log, the change that lets the user in tells it.
        let isKnown = state.members.contains(user) && !entry.isListed && !entry.needsLast
        entry.isNew = entry.isNew || isNew && !isKnown
        return isKnown
    }
}
