import JSON

/// A record that a list holds once per id, in an order of its own: the element type of `merge`.
///
/// Ids are compared byte by byte, as every store and every other client does; Swift's own `==`
/// would take a letter with a combining accent for the composed one.
protocol ListedRecord: Identifiable where ID == String {
    /// Whether this record comes before `other`: a strict total order over different ids.
    func stands(before other: Self) -> Bool

    /// The value that a list keeps after `arrival`, where it held `held`; nil for none.
    static func merged(_ arrival: Arrival<Self>, onto held: Self?) -> Self?
}

/// A record that is about to be merged into a list.
struct Arrival<Record> {
    /// How the record came.
    enum Origin { case fetched, inserted, updated, deleted, trimmed }

    var record: Record
    var origin: Origin

    init(_ record: Record, _ origin: Origin) {
        self.record = record
        self.origin = origin
    }

    init(_ record: Record, _ kind: DeltaKind) {
        self.record = record
        switch kind {
        case .inserted: origin = .inserted
        case .updated: origin = .updated
        case .deleted: origin = .deleted
        case .trimmed: origin = .trimmed
        }
    }
}

extension Arrival: Sendable where Record: Sendable {}

extension ListedRecord {
    /// `list` with `arrivals` merged into it, one after the other.
    ///
    /// A list that is out of order (it did not come from a merge) is sorted first; of several
    /// records with one id, the later counts as fetched after the earlier.
    /// - Complexity: O(n + m log n + m log m) for n records in order and m arrivals.
    static func merge(_ arrivals: [Arrival<Self>], into list: [Self]) -> [Self] {
        guard isInOrder(list) else {
            return merge(list.map { Arrival($0, .fetched) } + arrivals, into: [])
        }
        guard !arrivals.isEmpty else { return list }

        // One slot per arriving id. The list's value of that id is taken out and put into the slot,
        // so that a record that moves leaves nothing behind.
        var slots: [RecordKey: Int] = [:]
        slots.reserveCapacity(arrivals.count)
        for arrival in arrivals {
            let key = RecordKey(arrival.record.id)
            if slots[key] == nil { slots[key] = slots.count }
        }
        var values = [Self?](repeating: nil, count: slots.count)
        var taken: [Int] = []
        for at in list.indices {
            guard let slot = slots[RecordKey(list[at].id)] else { continue }
            values[slot] = list[at]
            taken.append(at)
        }
        for arrival in arrivals {
            guard let slot = slots[RecordKey(arrival.record.id)] else { continue }
            values[slot] = arrival.origin == .trimmed ? nil : merged(arrival, onto: values[slot])
        }
        let touched = values.compactMap { $0 }.sorted { $0.stands(before: $1) }
        return interleave(list, without: taken, touched)
    }

    private static func isInOrder(_ list: [Self]) -> Bool {
        list.indices.dropFirst().allSatisfy { list[$0 - 1].stands(before: list[$0]) }
    }

    /// Merges two ordered lists, without the elements of `list` at the positions `taken`. Copies
    /// whole stretches: most arrivals come after everything that is held.
    private static func interleave(
        _ list: [Self], without taken: [Int], _ others: [Self]
    ) -> [Self] {
        var result: [Self] = []
        result.reserveCapacity(list.count - taken.count + others.count)
        var start = 0
        var skipped = taken[...]
        func keep(upTo end: Int) {
            while let at = skipped.first, at < end {
                result.append(contentsOf: list[start..<at])
                start = at + 1
                skipped = skipped.dropFirst()
            }
            result.append(contentsOf: list[start..<end])
            start = end
        }
        for record in others {
            keep(upTo: position(of: record, in: list, from: start))
            result.append(record)
        }
        keep(upTo: list.count)
        return result
    }

    /// The first position at or after `start` whose record does not come before `record`.
    private static func position(of record: Self, in list: [Self], from start: Int) -> Int {
        var low = start
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle].stands(before: record) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// An id as a key: equal only if the bytes are equal.
struct RecordKey: Hashable, Sendable {
    let id: String

    init(_ id: String) { self.id = id }

    static func == (a: RecordKey, b: RecordKey) -> Bool {
        a.id.hasSameBytes(as: b.id)
    }

    // Strings that differ only in composition share a hash: rare enough to leave to `==`.
    func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
