/// How many messages of a timeline are unread, in the conversation and not only in what is loaded.
struct UnreadCounter: Sendable {
    /// Whose own messages are never unread; nil to count nothing.
    let reader: String?
    private(set) var counts = Timeline.Unread()
    /// The place up to which the reader has read.
    private(set) var lastRead: Int?
    /// The newest message that the view has passed.
    private(set) var viewAnchor: Place?

    init(reader: String?) { self.reader = reader }

    func isUnread(_ message: Message, at place: Place) -> Bool {
        guard let reader, let lastRead, !message.isDeleted else { return false }
        return message.author != reader && place.number > lastRead
    }

    // MARK: What the reader does

    /// - Returns: Up to where the reader has read now; a marker never moves back.
    mutating func advance(to place: Int) -> Int {
        let read = max(lastRead ?? place, place)
        lastRead = read
        return read
    }

    /// - Returns: Whether counts may be off: a first view counts from the rows.
    mutating func viewPassed(_ place: Place, _ rows: TimelineRows) -> Bool {
        guard let old = viewAnchor else {
            counts.afterView = rows.unread(after: place) + counts.afterNewestLoaded
            viewAnchor = place
            return false
        }
        let between = rows.unread(after: min(old, place)) - rows.unread(after: max(old, place))
        counts.afterView = max(0, counts.afterView + (place < old ? between : -between))
        viewAnchor = place
        return true
    }

    mutating func clear() { counts = Timeline.Unread() }

    // MARK: What comes

    /// The origin's count.
    mutating func correct(total: Int) { counts.total = total }

    mutating func count(_ place: Place, by change: Int) {
        counts.total = max(0, counts.total + change)
        if let viewAnchor, place > viewAnchor {
            counts.afterView = max(0, counts.afterView + change)
        }
    }

    /// An unread message after the newest one.
    mutating func countNews(at place: Place) {
        count(place, by: 1)
        counts.afterNewestLoaded += 1
    }

    /// Updates the count after the newest end of the rows has grown or was trimmed.
    mutating func follow(_ outcome: TimelineRows.Outcome, _ rows: TimelineRows) {
        guard let now = rows.newest, let newest = outcome.newestBefore else { return }
        let loaded = rows.unread(after: min(now, newest))
        counts.afterNewestLoaded = max(
            0, counts.afterNewestLoaded + outcome.unreadBeyond - loaded)
    }

    /// The origin's counts for a page whose newest message is at `newest`.
    /// - Parameter opens: whether the list begins with the page.
    mutating func begin(_ page: Timeline.Page.UnreadCount, at newest: Place?, opens: Bool) {
        counts.total = page.total
        counts.afterView = page.after
        if opens { counts.afterNewestLoaded = page.after }
        viewAnchor = newest ?? viewAnchor
    }

    /// A list begins without the origin's counts.
    mutating func begin(at newest: Place?) {
        viewAnchor = newest
        counts.afterView = counts.afterNewestLoaded
    }

    /// Recounts what the rows prove.
    /// - Parameter reachesEnd: whether the list follows the end, and holds it.
    mutating func settle(
        _ rows: TimelineRows, _ covered: Coverage, floor: Int, reachesEnd: Bool
    ) {
        guard let lastRead, let newest = covered.last else { return }
        let loaded = rows.entries.total.unread
        let isWhole =
            lastRead >= newest || covered.contains(max(lastRead + 1, floor), newest)
        if reachesEnd {
            counts.afterNewestLoaded = 0
            if isWhole { counts.total = loaded }
        } else if isWhole {
            counts.total = max(counts.total, loaded)
            counts.afterNewestLoaded = counts.total - loaded
        }
        if let viewAnchor, viewAnchor.number <= newest,
            covered.contains(viewAnchor.number + 1, newest)
        {
            counts.afterView = rows.unread(after: viewAnchor) + counts.afterNewestLoaded
        }
    }
}
