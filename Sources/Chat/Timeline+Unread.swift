/// How a timeline counts unread messages.
extension Timeline {
    /// How many messages of others the reader has not read.
    ///
    /// A plain value of a timeline. The numbers are those of the conversation, not of the loaded
    /// part: loading or trimming changes only `afterNewestLoaded`. They begin with the origin's
    /// counts (`Page.unread`, `setRead`) and follow live messages; wherever the list holds
    /// everything that counts, they are recounted and so corrected.
    public struct Unread: Sendable, Hashable {
        /// In the whole conversation.
        public internal(set) var total = 0
        /// After the message that the view has passed: see `viewPassed`.
        public internal(set) var afterView = 0
        /// After the newest message in the list.
        public internal(set) var afterNewestLoaded = 0
    }

    /// Sets how far the reader has read and, if the origin sent it, how many messages are unread
    /// then. A marker never moves back, and the count of one that comes late is outdated. Before
    /// the first marker nothing counts as unread.
    ///
    /// - Returns: The messages in the list whose `isUnread` changed, as updates.
    @discardableResult
    public mutating func setRead(upTo seq: Int, unread: Int? = nil) -> Changes {
        var changes = Changes()
        let from = counter.lastRead
        let read = counter.advance(to: seq)
        let low = from.map { rows.firstIndex(above: $0) } ?? 0
        let high = from == nil ? count : rows.firstIndex(above: seq)
        for index in low..<max(low, high) {
            let entry = rows.entries[index]
            let isUnread = isUnread(entry.message, at: entry.place)
            guard entry.isUnread != isUnread else { continue }
            rows.mark(at: index, isUnread: isUnread)
            counter.count(entry.place, by: isUnread ? 1 : -1)
            changes.updated.append(.init(id: entry.message.id, index: index))
        }
        if let unread, seq == read { counter.correct(total: unread) }
        if read >= rows.newest?.number ?? read, read >= end - 1 { counter.clear() }
        settleUnread()
        return changes
    }

    /// Records which message the view has reached; later messages count in `afterView`.
    public mutating func viewPassed(_ index: Int) {
        if counter.viewPassed(rows.entries[index].place, rows) { settleUnread() }
    }

    // MARK: Counting

    func isUnread(_ message: Message, at place: Place) -> Bool {
        place.isGiven && counter.isUnread(message, at: place)
    }

    /// Counts a live message that was unknown before, or uncounts one that is deleted, once.
    mutating func countArrival(of delta: MessageDelta) {
        let message = delta.message
        let place = place(of: message)
        guard isLoaded, let lastRead = counter.lastRead, place.number > lastRead, place.isGiven
        else { return }
        if place.number >= end {
            noteNewest(place)
            if isUnread(message, at: place) { counter.countNews(at: place) }
        } else if message.isDeleted, rows.entry(of: message.id)?.isUnread == true {
            counter.count(place, by: -1)
        }
    }

    /// Takes over a page's unread counts, and where the view begins.
    mutating func countUnread(of page: Page, opens: Bool) {
        if let count = page.unread, opens || page.kind == .around {
            let newest = page.messages.map { place(of: $0) }.max()
            counter.begin(count, at: newest, opens: opens)
        } else if opens {
            counter.begin(at: rows.newest)
        }
        settleUnread()
    }

    /// Recounts what the list proves.
    mutating func settleUnread() {
        guard isLoaded else { return }
        counter.settle(rows, coverage, floor: floor, reachesEnd: followsEnd && touchesEnd)
    }
}
