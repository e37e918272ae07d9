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

    /// How far the reader has read.
    public enum ReadMarker: Sendable, Hashable {
        /// Everything up to this seq; 0 for nothing.
        case seq(Int)
        /// Everything up to this message of a list without numbers.
        case message(createdAt: Timestamp, id: String)
    }

    /// Sets how far the reader has read and, if the origin sent it, how many messages are unread
    /// then. A marker never moves back, and the count of one that comes late is outdated. Before
    /// the first marker nothing counts as unread.
    ///
    /// - Returns: The messages in the list whose `isUnread` changed, as updates.
    @discardableResult
    public mutating func setRead(upTo marker: ReadMarker, unread count: Int? = nil) -> Changes {
        var changes = Changes()
        let place: Place
        switch marker {
        // Above every id at this seq.
        case .seq(let seq): place = Place(number: seq, id: "\u{10FFFF}")
        case .message(let createdAt, let id): place = Place(moment: createdAt, id: id)
        }
        let from = lastRead
        let read = from.map { max($0, place) } ?? place
        lastRead = read
        let low = from.map { old in entries.index(where: { $0.place > old }) } ?? 0
        let high = from == nil ? entries.count : entries.index(where: { $0.place > place })
        for index in low..<max(low, high) {
            let entry = entries[index]
            let isUnread = isUnread(entry.message, at: entry.place)
            guard entry.isUnread != isUnread else { continue }
            entries.update(at: index) { $0.isUnread = isUnread }
            countChange(of: entry.place, by: isUnread ? 1 : -1)
            changes.updated.append(.init(id: entry.message.id, index: index))
        }
        if let count, place == read { unread.total = count }
        if read >= (newestLoaded ?? read), .behind(read) >= end { unread = Unread() }
        settleUnread()
        return changes
    }

    /// Records which message the view has reached; later messages count in `afterView`.
    public mutating func viewPassed(_ index: Int) {
        let place = entries[index].place
        guard let old = viewAnchor else {
            unread.afterView = unreadLoaded(after: place) + unread.afterNewestLoaded
            viewAnchor = place
            return
        }
        let between = unreadLoaded(after: min(old, place)) - unreadLoaded(after: max(old, place))
        unread.afterView = max(0, unread.afterView + (place < old ? between : -between))
        viewAnchor = place
        settleUnread()
    }

    // MARK: Counting

    func isUnread(_ message: Message, at place: Place) -> Bool {
        guard let reader, let lastRead, !message.isDeleted else { return false }
        return message.author != reader && place > lastRead && hasPlace(place)
    }

    func hasPlace(_ place: Place) -> Bool { numbering == .unnumbered || place.number != .max }

    /// The place of the newest message in the list that is not still being sent.
    var newestLoaded: Place? {
        if let last = entries.last, hasPlace(last.place) { return last.place }
        let count = entries.index(where: { !hasPlace($0.place) })
        return count > 0 ? entries[count - 1].place : nil
    }

    func unreadLoaded(after place: Place) -> Int {
        entries.total.unread
            - entries.sum(before: entries.index(where: { $0.place > place })).unread
    }

    private mutating func countChange(of place: Place, by change: Int) {
        unread.total = max(0, unread.total + change)
        if let viewAnchor, place > viewAnchor {
            unread.afterView = max(0, unread.afterView + change)
        }
    }

    /// Counts a live message that was unknown before, or uncounts one that is deleted, once.
    mutating func countArrival(of delta: MessageDelta) {
        let message = delta.message
        let place = place(of: message)
        guard isLoaded, let lastRead, place > lastRead, hasPlace(place) else { return }
        if .before(place) >= end {
            noteNewest(place)
            guard isUnread(message, at: place) else { return }
            countChange(of: place, by: 1)
            unread.afterNewestLoaded += 1
        } else if message.isDeleted, let index = index(of: message.id), entries[index].isUnread {
            countChange(of: place, by: -1)
        }
    }

    /// Updates the count after the newest end of the list has grown or was trimmed.
    ///
    /// - Parameters:
    ///   - newest: the newest message before the change.
    ///   - beyond: how many unread messages were above the older of the two ends before the change.
    mutating func countLoaded(since newest: Place?, beyond: Int) {
        guard let now = newestLoaded, let newest else { return }
        let loaded = unreadLoaded(after: min(now, newest))
        unread.afterNewestLoaded = max(0, unread.afterNewestLoaded + beyond - loaded)
    }

    /// Takes over a page's unread counts, and where the view begins.
    mutating func countUnread(of page: Page, opens: Bool) {
        if let count = page.unread, opens || page.kind == .around {
            unread.total = count.total
            unread.afterView = count.after
            if opens { unread.afterNewestLoaded = count.after }
            viewAnchor = page.messages.map { place(of: $0) }.max() ?? viewAnchor
        } else if opens {
            viewAnchor = newestLoaded
            unread.afterView = unread.afterNewestLoaded
        }
        settleUnread()
    }

    /// Recounts what the list proves.
    mutating func settleUnread() {
        guard isLoaded, let lastRead, let high = covered.high else { return }
        let loaded = entries.total.unread
        let fromMarker = max(.behind(lastRead), floor)
        let isWhole = covered.contains(min(fromMarker, high), high)
        if followsEnd, touchesEnd {
            unread.afterNewestLoaded = 0
            if isWhole { unread.total = loaded }
        } else if isWhole {
            unread.total = max(unread.total, loaded)
            unread.afterNewestLoaded = unread.total - loaded
        }
        if let viewAnchor, .behind(viewAnchor) <= high,
            covered.contains(.behind(viewAnchor), high)
        {
            unread.afterView = unreadLoaded(after: viewAnchor) + unread.afterNewestLoaded
        }
    }
}
