/// The changes of a timeline in one step, and how they are applied.
extension Timeline {
    /// The smallest set of changes with which a view shows what a timeline holds now.
    ///
    /// A plain value, to be applied as list views do: the indices of deletions, and those from
    /// which something moves, count in the old list; all others in the new one. A message is named
    /// at most once; one that moved may have a new value too.
    public struct Changes: Sendable, Hashable {
        /// One message that changed.
        public struct Item: Sendable, Hashable {
            /// The message's id.
            public var id: String
            /// Its index in the list, new or old.
            public var index: Int
        }

        /// One message whose position among the messages that were there before has changed.
        public struct Move: Sendable, Hashable {
            /// The message's id.
            public var id: String
            /// Its index in the old list.
            public var from: Int
            /// Its index in the new list.
            public var to: Int
        }

        /// New messages, ascending.
        public var inserted: [Item] = []
        /// Messages that left the list, ascending by the old index.
        public var deleted: [Item] = []
        /// Moved messages, ascending by the new index.
        public var moved: [Move] = []
        /// Messages with another value, or whose `isHeld` changed; ascending.
        public var updated: [Item] = []

        /// No changes.
        public init() {}

        /// Whether a view has nothing to do.
        public var isEmpty: Bool {
            inserted.isEmpty && deleted.isEmpty && moved.isEmpty && updated.isEmpty
        }
    }

    /// Pending changes, one entry per message, in the order in which they were decided.
    struct Edits {
        struct Edit {
            let id: String
            /// The entry that the list will have; nil for none.
            var entry: Entry?
        }

        private(set) var list: [Edit] = []
        private var slots: [RecordKey: Int] = [:]

        subscript(id: String) -> Edit? { slots[RecordKey(id)].map { list[$0] } }

        mutating func set(_ id: String, _ entry: Entry?) {
            if let slot = slots[RecordKey(id)] {
                list[slot].entry = entry
            } else {
                slots[RecordKey(id)] = list.count
                list.append(Edit(id: id, entry: entry))
            }
        }

        /// Marks the messages at the lost places as only shown.
        mutating func demote(where isLost: (Place) -> Bool) {
            for slot in list.indices {
                if let place = list[slot].entry?.place, isLost(place) {
                    list[slot].entry?.isHeld = false
                }
            }
        }
    }

    /// A message that was in the list and still is.
    private struct Survivor {
        var id: String
        var old: Int
        var new: Int
    }

    /// Applies `edits` and returns what changed.
    mutating func commit(_ edits: Edits) -> Changes {
        var changes = Changes()
        var before: [RecordKey: (entry: Entry, index: Int)] = [:]
        for edit in edits.list {
            let key = RecordKey(edit.id)
            guard let place = places[key], let index = entries.index(of: place) else { continue }
            before[key] = (entries[index], index)
        }
        let newest = newestLoaded
        var beyond = newest.map { unreadLoaded(after: $0) } ?? 0
        for edit in edits.list { carryOut(edit, before[RecordKey(edit.id)]?.entry) }
        if let newest, let now = newestLoaded, now < newest {
            beyond = before.values.count { $0.entry.isUnread && $0.entry.place > now }
        }
        countLoaded(since: newest, beyond: beyond)

        var moving: [Survivor] = []
        for edit in edits.list {
            let old = before[RecordKey(edit.id)]
            switch (old, edit.entry) {
            case (nil, nil): break
            case (let old?, nil): changes.deleted.append(.init(id: edit.id, index: old.index))
            case (nil, let entry?):
                let index = entries.index(of: entry.place) ?? 0
                changes.inserted.append(.init(id: edit.id, index: index))
            case (let old?, let entry?):
                let index = entries.index(of: entry.place) ?? 0
                if old.entry.place != entry.place {
                    moving.append(Survivor(id: edit.id, old: old.index, new: index))
                } else if old.entry.message != entry.message || old.entry.isHeld != entry.isHeld {
                    changes.updated.append(.init(id: edit.id, index: index))
                }
            }
        }
        changes.deleted.sort { $0.index < $1.index }
        changes.inserted.sort { $0.index < $1.index }
        sort(moving, into: &changes)
        changes.updated.sort { $0.index < $1.index }
        return changes
    }

    private mutating func carryOut(_ edit: Edits.Edit, _ old: Entry?) {
        if let old {
            if edit.entry?.place != old.place { entries.remove(old.place) }
            // A page older than a value that was given up can't bring that value back.
            if old.isHeld, edit.entry?.isHeld != true {
                changesFrom = max(changesFrom, old.message.rev ?? 0)
            }
        }
        places[RecordKey(edit.id)] = edit.entry?.place
        if let entry = edit.entry { entries.set(entry) }
    }

    /// Of the messages whose place changed, as few as possible are moved: those whose order among
    /// the others changed. The rest are updates.
    private func sort(_ moving: [Survivor], into changes: inout Changes) {
        guard !moving.isEmpty else { return }
        let deleted = changes.deleted.map(\.index)
        let inserted = changes.inserted.map(\.index)
        let olds = moving.map(\.old).sorted()
        let moving = moving.sorted { $0.new < $1.new }
        let news = moving.map(\.new)
        // Messages with as many unmoved messages before them as in the old list.
        let still = moving.filter { item in
            let before = item.old - deleted.count(below: item.old) - olds.count(below: item.old)
            let after = item.new - inserted.count(below: item.new) - news.count(below: item.new)
            return before == after
        }
        let staying = Set(still.map(\.old).longestRise())
        for item in moving {
            if staying.contains(item.old) {
                changes.updated.append(.init(id: item.id, index: item.new))
            } else {
                changes.moved.append(.init(id: item.id, from: item.old, to: item.new))
            }
        }
    }
}

extension [Int] {
    /// How many elements of this ascending array are below `bound`.
    fileprivate func count(below bound: Int) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// A longest increasing subsequence of these distinct numbers (patience sorting).
    fileprivate func longestRise() -> [Int] {
        var tops: [Int] = []
        var previous = [Int?](repeating: nil, count: count)
        var ends: [Int] = []
        for (at, value) in enumerated() {
            let pile = tops.count(below: value)
            previous[at] = pile > 0 ? ends[pile - 1] : nil
            if pile == tops.count {
                tops.append(value)
                ends.append(at)
            } else {
                tops[pile] = value
                ends[pile] = at
            }
        }
        var result: [Int] = []
        var next = ends.last
        while let at = next {
            result.append(self[at])
            next = previous[at]
        }
        return result.reversed()
    }
}
