import Chat
import Ports
import Wire

/// A user's unread messages by conversation, for connections that asked for the totals. The origin
/// is asked once, and from then on changes are followed: a log's revs are dense, so each change
/// that continues the known ones shows how the count changes. When a change does not continue them,
/// the origin is asked again, at most once a second and at most once a millisecond for each
/// conversation: about single conversations, or for the list.
///
/// It knows heads and markers, neither streams nor sessions; `UnreadTotals` decides when to send.
final class UnreadCount {
    let user: String
    /// Over all known conversations.
    private(set) var total = UnreadTotal(messages: 0, conversations: 0)
    /// Whether the origin has answered, so that there is a total.
    private(set) var isKnown = false
    /// Whether it may be wrong until the origin is asked for the list again.
    private var isListStale = true
    /// Conversations whose numbers may be wrong until the origin is asked again.
    private(set) var unsure: Set<ID> = []
    /// Those that the origin is asked about.
    private var asked: Set<ID> = []
    /// Whether the list is followed.
    var isFollowed = false
    /// The number of the reading under way.
    private(set) var reading: Int?
    /// Its answer may be older than later events.
    private var isOutdated = false
    /// When the origin may be asked again.
    private(set) var readAfter: Timestamp
    /// When the next event may be sent.
    var sayAfter: Timestamp
    /// Since when the totals have been open.
    var openSince: Timestamp?
    /// Whether it is in `touched`, or in `due`, of `UnreadTotals`.
    var isTouched = false

    /// Whether it may be wrong.
    var isStale: Bool { needsList || !unsure.isEmpty || !asked.isEmpty }
    /// Whether the list must be read before it is right.
    var needsList: Bool { isListStale || unsure.count > Lists.fewUnknown }

    private var entries: [ID: ReadPlace] = [:]
    /// What connections are told of single conversations.
    private(set) var readings = ReadingLog()

    /// Milliseconds between two events to the connections of a user.
    static let interval: Int64 = 1000

    /// - Parameter now: when a connection first asked; the first event comes an interval later,
    ///   when most have asked for their list anyway.
    init(user: String, at now: Timestamp) {
        self.user = user
        readAfter = now
        sayAfter = now.adding(Self.interval)
    }

    // MARK: - Reading

    /// The origin is asked.
    func began(_ reading: Int, at now: Timestamp) {
        self.reading = reading
        // What is answered meanwhile may be older than the list.
        asked = []
        isOutdated = false
        readAfter = now.adding(max(Self.interval, Int64(entries.count)))
    }

    /// The origin did not answer.
    func failed(_ reading: Int) {
        guard self.reading == reading else { return }
        self.reading = nil
        isListStale = true
    }

    /// The list as of some moment since the reading began.
    /// - Parameter isBehind: whether the feed may have brought more than this head, or may not
    ///   cover what follows it.
    func adopt(
        _ list: ListedHeads, _ reading: Int, at now: Timestamp, isBehind: (ID, Head) -> Bool
    ) {
        guard self.reading == reading else { return }
        self.reading = nil
        // The first reading comes before the conversations are followed: the next need not wait.
        if !isKnown { readAfter = now }
        isKnown = true
        isListStale = isOutdated
        unsure = []
        for id in entries.keys where list.readers[id] == nil { readings.drop(id) }
        entries = [:]
        total = UnreadTotal(messages: 0, conversations: 0)
        for (id, reader) in list.readers {
            guard let head = list.heads[id] else { continue }
            entries[id] = ReadPlace(head, reader)
            readings.note(id)
            total.add(reader)
            if isBehind(id, head) { isListStale = true }
        }
    }

    /// The origin is asked about the conversations that may be wrong.
    func beganAsking(at now: Timestamp) -> [ID] {
        defer { unsure = [] }
        asked.formUnion(unsure)
        readAfter = now.adding(Self.interval)
        return unsure.inOrder
    }

    /// The conversation as of some moment since the origin was asked about it.
    /// - Parameters:
    ///   - view: nil if the origin did not answer, or what follows may not be known.
    ///   - isBehind: whether the feed may have brought more than this head.
    func adopt(_ id: ID, _ view: ConversationView?, isBehind: (ID, Head) -> Bool) {
        guard asked.remove(id) != nil, let entry = entries[id] else { return }
        if let view, view.reader == nil { return doubt() }
        guard let view, let reader = view.reader, !isBehind(id, view.head),
            entry.epoch != view.head.epoch || reader.lastReadSeq >= entry.lastRead
        else {
            unsure.insert(id)
            return
        }
        keep(ReadPlace(view.head, reader), id)
    }

    /// An event that may or may not be in the pending answer.
    private func disturb() { if reading != nil { isOutdated = true } }

    /// The counts may be wrong.
    func doubt() {
        isListStale = true
        disturb()
    }

    /// An answer showed the conversation so. If it is known otherwise here, one of both is
    /// outdated, and nobody knows which.
    func compare(_ id: ID, _ reader: ReaderState) {
        guard let entry = entries[id], entry.state != reader else { return }
        unsure.insert(id)
        disturb()
    }

    // MARK: - Following

    /// The log's position is now `head`; these changes came since the last call.
    func follow(_ id: ID, _ changes: [LogChange], to head: Head) {
        guard isKnown else { return disturb() }
        guard var entry = entries[id] else { return doubt() }
        let isWhole =
            entry.epoch == head.epoch && entry.take(changes, by: user) && entry.rev >= head.rev
        // Trimmed messages are not unread.
        if !isWhole || !entry.knowsMentions || entry.mayCountTrimmed(below: head.floor) {
            unsure.insert(id)
        }
        keep(entry, id)
    }

    /// The user has read up to here.
    /// - Parameter changes: from the feed, perhaps not applied yet.
    func mark(_ id: ID, upTo seq: Int, after changes: [LogChange]) {
        disturb()
        guard var entry = entries[id], seq > entry.lastRead else { return }
        let isFollowed = entry.take(changes, by: user)
        if !entry.mark(upTo: seq) || !isFollowed { unsure.insert(id) }
        keep(entry, id)
    }

    /// The user no longer takes part.
    func drop(_ id: ID) {
        disturb()
        unsure.remove(id)
        asked.remove(id)
        guard let entry = entries.removeValue(forKey: id) else { return }
        readings.drop(id)
        total.remove(entry.state)
    }

    private func keep(_ entry: ReadPlace, _ id: ID) {
        if let before = entries.updateValue(entry, forKey: id) { total.remove(before.state) }
        total.add(entry.state)
        readings.note(id)
    }

    /// Notes what connections are to be told of single conversations.
    func publish() { readings.publish { entries[$0]?.state } }
}

/// The unread totals that a connection was sent last.
struct UnreadTold: Equatable {
    var total: UnreadTotal
    var isOpen: Bool
}
