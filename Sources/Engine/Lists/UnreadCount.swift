import Chat
import Ports
import Wire

/// What a user has not read, conversation by conversation, for those of its connections that asked
/// to be told. The origin is asked for all of it, and from then on it follows the changes: a log's
/// revs are dense, so a change that continues what is known here says what it does to the count.
/// Where one does not, the origin is asked again, at most once a second, and once a millisecond for
/// each conversation.
///
/// It knows heads and markers, neither streams nor sessions; `UnreadTotals` decides when it is
/// told.
final class UnreadCount {
    let user: String
    /// Over all conversations that are known.
    private(set) var total = UnreadTotal(messages: 0, conversations: 0)
    /// The origin has answered, so that there is a total.
    private(set) var isKnown = false
    /// It may be wrong, until the origin has been asked again.
    private(set) var isStale = true
    /// The list is followed, and read.
    var isFollowed = false
    /// The reading under way.
    private(set) var reading: Int?
    /// Its answer may be older than what happened since.
    private var isOutdated = false
    /// When the origin may be asked again.
    private(set) var readAfter: Timestamp
    /// When connections may be told again.
    var sayAfter: Timestamp
    /// Since when it has not been whole.
    var openSince: Timestamp?
    /// It is among those that are looked at in this turn, or a few times a second.
    var isTouched = false
    var isDue = false

    private var entries: [ID: ReadPlace] = [:]

    /// How long connections wait between two events, in milliseconds.
    static let interval: Int64 = 1000

    /// - Parameter now: when somebody asked first; the first event comes an interval later, when
    ///   most have asked for their list anyway.
    init(user: String, at now: Timestamp) {
        self.user = user
        readAfter = now
        sayAfter = now.adding(Self.interval)
    }

    // MARK: - Reading

    /// The origin is asked.
    func began(_ reading: Int, at now: Timestamp) {
        self.reading = reading
        isOutdated = false
        readAfter = now.adding(max(Self.interval, Int64(entries.count)))
    }

    /// It did not answer.
    func failed(_ reading: Int) {
        guard self.reading == reading else { return }
        self.reading = nil
        isStale = true
    }

    /// The list as it was at some moment since the reading began.
    /// - Parameter isBehind: whether the feed may have told of more than the head, or not yet tell
    ///   what comes behind it.
    func adopt(
        _ list: ListedHeads, _ reading: Int, at now: Timestamp, isBehind: (ID, Head) -> Bool
    ) {
        guard self.reading == reading else { return }
        self.reading = nil
        // What comes first is read before the conversations are followed: no reason to wait.
        if !isKnown { readAfter = now }
        isKnown = true
        isStale = isOutdated
        entries = [:]
        total = UnreadTotal(messages: 0, conversations: 0)
        for (id, reader) in list.readers {
            guard let head = list.heads[id] else { continue }
            entries[id] = ReadPlace(head, reader)
            total.add(reader)
            if isBehind(id, head) { isStale = true }
        }
    }

    /// Something happened that may be in the answer under way, or not.
    private func disturb() { if reading != nil { isOutdated = true } }

    /// What is known may be wrong.
    func doubt() {
        isStale = true
        disturb()
    }

    // MARK: - Following

    /// The log has come to stand at `head`; these are changes that were told since the last time.
    func follow(_ id: ID, _ changes: [LogChange], to head: Head) {
        guard isKnown else { return disturb() }
        guard var entry = entries[id] else { return doubt() }
        let isWhole =
            entry.epoch == head.epoch && entry.take(changes, by: user) && entry.rev >= head.rev
        // What was trimmed is not unread.
        if !isWhole || entry.mayCountTrimmed(below: head.floor) { isStale = true }
        keep(entry, id)
    }

    /// The user has read up to this place.
    /// - Parameter changes: those that were told, and may not have been followed yet.
    func mark(_ id: ID, upTo seq: Int, after changes: [LogChange]) {
        disturb()
        guard var entry = entries[id], seq > entry.lastRead else { return }
        let isFollowed = entry.take(changes, by: user)
        if !entry.mark(upTo: seq) || !isFollowed { isStale = true }
        keep(entry, id)
    }

    /// The user does not take part any more.
    func drop(_ id: ID) {
        disturb()
        guard let entry = entries.removeValue(forKey: id) else { return }
        count(entry.unread, -1)
    }

    private func keep(_ entry: ReadPlace, _ id: ID) {
        if let before = entries.updateValue(entry, forKey: id) { count(before.unread, -1) }
        count(entry.unread, 1)
    }

    private func count(_ unread: Int, _ sign: Int) {
        guard unread > 0 else { return }
        total.messages += sign * unread
        total.conversations += sign
    }
}

/// What a connection was told last of what is unread.
struct UnreadTold: Equatable {
    var total: UnreadTotal
    var isOpen: Bool
}
