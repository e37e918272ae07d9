/// The rows of a timeline: its messages in order, found by place, by index and by id.
struct TimelineRows: Sendable {
    typealias Entry = Timeline.Entry
    typealias Changes = Timeline.Changes
    typealias Edits = Timeline.Edits

    /// What edits came to.
    struct Outcome {
        var changes = Changes()
        /// The newest place before, of what is not being sent.
        var newestBefore: Place?
        /// How many unread rows were above the older of the newest places before and after.
        var unreadBeyond = 0
        /// The highest `rev` of a value that was held and no longer is.
        var givenUp = 0
    }

    private(set) var entries = BlockList<Entry>()
    private var places: [RecordKey: Place] = [:]

    // MARK: Finding

    func place(of id: String) -> Place? { places[RecordKey(id)] }

    func index(of id: String) -> Int? { place(of: id).flatMap { entries.index(of: $0) } }

    func entry(of id: String) -> Entry? { place(of: id).flatMap { entries.element(at: $0) } }

    /// The index of the first row at or above a number, including those being sent.
    func firstIndex(from number: Int) -> Int {
        entries.index(where: { $0.place.number >= number })
    }

    /// The index of the first row above a number, including those being sent.
    func firstIndex(above number: Int) -> Int {
        entries.index(where: { $0.place.number > number })
    }

    /// The indices of the rows in a run of places.
    func indices(of run: Coverage.Run) -> Range<Int> {
        firstIndex(from: run.low)..<firstIndex(from: run.high + 1)
    }

    /// How many rows are not still being sent.
    var givenCount: Int {
        guard let last = entries.last, !last.place.isGiven else { return entries.count }
        return firstIndex(from: .max)
    }

    /// The newest place of what is not still being sent.
    var newest: Place? {
        let count = givenCount
        return count > 0 ? entries[count - 1].place : nil
    }

    func unread(after place: Place) -> Int {
        entries.total.unread
            - entries.sum(before: entries.index(where: { $0.place > place })).unread
    }

    // MARK: Changing

    mutating func mark(at index: Int, isUnread: Bool) {
        entries.update(at: index) { $0.isUnread = isUnread }
    }

    /// A message that was in the list and still is.
    private struct Survivor {
        var id: String
        var old: Int
        var new: Int
    }

    /// Carries out `edits`.
    mutating func perform(_ edits: Edits) -> Outcome {
        var outcome = Outcome()
        var before: [RecordKey: (entry: Entry, index: Int)] = [:]
        for edit in edits.list {
            let key = RecordKey(edit.id)
            guard let index = index(of: edit.id) else { continue }
            before[key] = (entries[index], index)
        }
        outcome.newestBefore = newest
        outcome.unreadBeyond = newest.map { unread(after: $0) } ?? 0
        for edit in edits.list {
            let old = before[RecordKey(edit.id)]?.entry
            // A page older than a value that was given up can't bring that value back.
            if let old, old.isHeld, edit.entry?.isHeld != true {
                outcome.givenUp = max(outcome.givenUp, old.message.rev ?? 0)
            }
            carryOut(edit, old)
        }
        if let newest = outcome.newestBefore, let now = self.newest, now < newest {
            outcome.unreadBeyond = before.values.count {
                $0.entry.isUnread && $0.entry.place > now
            }
        }
        outcome.changes = changes(by: edits, before)
        return outcome
    }

    private func changes(
        by edits: Edits, _ before: [RecordKey: (entry: Entry, index: Int)]
    ) -> Changes {
        var changes = Changes()
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
        if let old, edit.entry?.place != old.place { entries.remove(old.place) }
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
