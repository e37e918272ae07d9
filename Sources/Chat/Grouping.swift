/// The rows of a view, made from the messages of a timeline: a row is one message, or several
/// adjacent ones of one category, such as deleted messages.
///
/// Row 0 is the newest, as in a list that grows at its bottom. A row never spans a hole. A group
/// can be revealed: then each of its messages is a row of its own, until the group is hidden again.
/// In a group of adjacent messages, the revealed ones from the newest on are rows of their own, and
/// the first one that is not revealed makes one row with all the older ones.
///
/// A plain value, owned by the timeline's owner. It keeps an id, a place and a few bits of each
/// message, and rows as sums over them, so it follows a change without a recount: whether a message
/// begins a row depends only on the message itself and the one above it.
///
/// - Complexity: a change of one message costs microseconds, however long the list; one that splits
///   or joins rows costs that much for each of these rows; each change also costs one step per run.
public struct Grouping: Sendable {
    /// Returns a message's category; nil for a row of its own.
    public typealias Category = @Sendable (Message) -> String?

    /// One row.
    public struct Row: Sendable, Hashable {
        /// The id of its newest message.
        public var id: String
        /// The indices of its messages in the timeline.
        public var items: Range<Int>
        /// The common category of its messages; nil for a single message of no category.
        public var category: String?
        /// Whether it is one message of a revealed group.
        public var isRevealed: Bool
    }

    /// One run of the timeline as rows.
    public struct Run: Sendable, Hashable {
        /// The id of its newest message.
        public var id: String
        /// The indices of its messages in the timeline.
        public var items: Range<Int>
        /// Its rows.
        public var rows: Range<Int>
    }

    private struct Item: BlockElement, Equatable {
        var id: String
        var place: Place
        var category: String?
        var isUnread: Bool
        /// Whether there is a hole above the message.
        var endsRun: Bool
        var beginsRow = true

        var sum: BlockSum {
            BlockSum(count: 1, unread: isUnread ? 1 : 0, rows: beginsRow ? 1 : 0)
        }
    }

    private let category: Category
    private var items: BlockList<Item>
    private var places: [RecordKey: Place] = [:]
    private var revealed: Set<RecordKey> = []
    /// The messages with a hole above them.
    private var runEnds: Set<RecordKey> = []
    private var timelineRuns: [Timeline.Run] = []
    private var unread = Timeline.Unread()
    private var viewAnchor: Place?

    /// Groups deleted messages: the reader's own and those of others separately.
    public static func tombstones(reader: String?) -> Category {
        { message in
            guard message.isDeleted else { return nil }
            return message.author == reader ? "deleted by reader" : "deleted"
        }
    }

    /// The rows of all messages of a timeline, in one pass.
    public init(of timeline: Timeline, by category: @escaping Category) {
        self.init(of: timeline, by: category, revealing: [])
    }

    /// The rows with some messages revealed: the same result that the other initializer gives after
    /// `apply` and `reveal`.
    init(of timeline: Timeline, by category: @escaping Category, revealing ids: Set<String>) {
        self.category = category
        revealed = Set(ids.map(RecordKey.init))
        items = BlockList()
        takeRuns(of: timeline)
        let ends = runEnds
        var isAboveGroup: (category: String, canJoin: Bool)?
        var newestFirst: [Item] = []
        newestFirst.reserveCapacity(timeline.count)
        for entry in timeline.rows.entries.all.reversed() {
            let key = RecordKey(entry.message.id)
            var item = Item(
                id: key.id, place: entry.place, category: category(entry.message),
                isUnread: entry.isUnread, endsRun: ends.contains(key))
            let joins =
                !item.endsRun && isAboveGroup?.canJoin == true
                && item.category == isAboveGroup?.category
            item.beginsRow = !joins
            isAboveGroup = item.category.map { ($0, joins || !revealed.contains(key)) }
            newestFirst.append(item)
            places[key] = entry.place
        }
        items = BlockList(ordered: newestFirst.reversed())
    }

    // MARK: Reading

    /// How many rows there are.
    public var count: Int { items.total.rows }

    /// A row, 0 being the newest.
    public subscript(row: Int) -> Row {
        let newest = items.index(ofRow: count - 1 - row)
        let item = items[newest]
        let oldest = row + 1 < count ? items.index(ofRow: count - 2 - row) + 1 : 0
        return Row(
            id: item.id, items: oldest..<newest + 1, category: item.category,
            isRevealed: isRevealed(item))
    }

    /// All rows, newest first.
    /// - Complexity: O(rows)
    public var rows: [Row] {
        var result: [Row] = []
        for (index, item) in items.all.enumerated().reversed() {
            if item.beginsRow {
                result.append(
                    Row(
                        id: item.id, items: index..<index + 1, category: item.category,
                        isRevealed: isRevealed(item)))
            } else {
                result[result.count - 1].items = index..<result[result.count - 1].items.upperBound
            }
        }
        return result
    }

    /// The row that shows a message.
    public func row(of id: String) -> Int? {
        guard let place = places[RecordKey(id)], let index = items.index(of: place) else {
            return nil
        }
        return row(showing: index)
    }

    /// The runs that have messages, newest first.
    public var runs: [Run] {
        timelineRuns.reversed().compactMap { run in
            guard let newest = run.items.last else { return nil }
            let rows = row(showing: newest)..<row(showing: run.items.lowerBound) + 1
            return Run(id: items[newest].id, items: run.items, rows: rows)
        }
    }

    /// How many unread messages are older than a row.
    public func unreadBefore(row: Int) -> Int {
        let oldest = self[row].items.lowerBound
        let below = items.sum(before: oldest).unread
        if let viewAnchor {
            let passed = items.index(where: { $0.place > viewAnchor })
            if passed > oldest {
                let here = items.sum(before: passed).unread - below
                return max(0, unread.total - unread.afterView - here)
            }
        }
        return max(0, unread.total - unread.afterNewestLoaded - (items.total.unread - below))
    }

    private func row(showing index: Int) -> Int {
        count - 1 - items.sum(before: index).rows
    }

    private func isRevealed(_ item: Item) -> Bool {
        item.category != nil && revealed.contains(RecordKey(item.id))
    }

    // MARK: Revealing

    /// Reveals a group: its messages become rows of their own.
    public mutating func reveal(row: Int) {
        let items = self[row].items
        guard self.items[items.lowerBound].category != nil else { return }
        for index in items { revealed.insert(RecordKey(self.items[index].id)) }
        settle(from: self.items[items.upperBound - 1].place)
    }

    /// Hides a revealed group: its adjacent revealed rows become one row with the group's older
    /// messages.
    public mutating func hide(row: Int) {
        let item = self.items[self[row].items.lowerBound]
        guard isRevealed(item), self[row].isRevealed else { return }
        var newest = row
        while newest > 0, stand(row: newest - 1, above: newest) { newest -= 1 }
        var oldest = row
        while oldest + 1 < count, stand(row: oldest, above: oldest + 1) { oldest += 1 }
        let low = self[oldest].items.lowerBound
        let high = self[newest].items.upperBound - 1
        let place = items[high].place
        for index in low...high { revealed.remove(RecordKey(items[index].id)) }
        settle(from: place)
    }

    /// Whether two adjacent rows are both revealed and of one group.
    private func stand(row: Int, above: Int) -> Bool {
        let newer = self[row]
        let older = self[above]
        return newer.isRevealed && older.isRevealed && newer.category == older.category
            && !items[older.items.upperBound - 1].endsRun
    }

    // MARK: Following the timeline

    /// Follows a change of the timeline. The caller must pass every change, in order, empty ones
    /// too: a page may close a hole or change a count without changing a message.
    public mutating func apply(_ changes: Timeline.Changes, of timeline: Timeline) {
        var touched: [Place] = []
        func remove(_ id: String, _ grouping: inout Grouping) {
            guard let place = grouping.places.removeValue(forKey: RecordKey(id)) else { return }
            grouping.items.remove(place)
            touched.append(place)
        }
        for item in changes.deleted {
            remove(item.id, &self)
            revealed.remove(RecordKey(item.id))
        }
        for item in changes.moved { remove(item.id, &self) }
        let came = changes.inserted.map(\.index) + changes.moved.map(\.to)
        for index in came + changes.updated.map(\.index) {
            let entry = timeline.rows.entries[index]
            let key = RecordKey(entry.message.id)
            // A place that only gained a number keeps its order.
            if let old = places[key], old != entry.place { remove(key.id, &self) }
            items.set(
                Item(
                    id: key.id, place: entry.place, category: category(entry.message),
                    isUnread: entry.isUnread, endsRun: runEnds.contains(key)))
            places[key] = entry.place
            touched.append(entry.place)
        }
        let ended = runEnds
        takeRuns(of: timeline)
        for key in ended.symmetricDifference(runEnds) {
            guard let place = places[key], let index = items.index(of: place) else { continue }
            items.update(at: index) { $0.endsRun = runEnds.contains(key) }
            touched.append(place)
        }
        // Newest first, since each row depends on the one above it.
        for place in touched.sorted(by: >) { settle(from: place) }
    }

    private mutating func takeRuns(of timeline: Timeline) {
        timelineRuns = timeline.runs
        unread = timeline.unread
        viewAnchor = timeline.counter.viewAnchor
        runEnds = []
        for run in timelineRuns {
            for index in [run.items.lowerBound - 1, run.items.upperBound - 1]
            where index >= 0 && index < timeline.count - 1 {
                runEnds.insert(RecordKey(timeline[index].id))
            }
        }
    }

    /// Recomputes whether the message at a place and the next one below begin a row, then those
    /// below, until nothing changes.
    private mutating func settle(from place: Place) {
        let behind = items.index(where: { $0.place > place })
        var index = behind - 1
        while index >= 0 {
            let begins = beginsRow(index)
            let changes = items[index].beginsRow != begins
            if changes { items.update(at: index) { $0.beginsRow = begins } }
            if !changes, index < behind - 1 { break }
            index -= 1
        }
    }

    private func beginsRow(_ index: Int) -> Bool {
        let item = items[index]
        guard let category = item.category, !item.endsRun, index + 1 < items.count else {
            return true
        }
        let above = items[index + 1]
        return above.category != category || (above.beginsRow && isRevealed(above))
    }
}
