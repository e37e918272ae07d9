/// A set of places in a log: closed ranges, ascending, disjoint, never touching. The drills have
/// their own implementation, so that the gateway's code is not checked by itself.
struct Slots: Sendable, Equatable {
    private(set) var ranges: [ClosedRange<Int>] = []

    init() {}

    /// - Parameter ranges: in any order.
    init(_ ranges: some Sequence<ClosedRange<Int>>) {
        for range in ranges { insert(range) }
    }

    var isEmpty: Bool { ranges.isEmpty }

    /// The number of places.
    var count: Int { ranges.reduce(0) { $0 + $1.count } }

    mutating func insert(_ new: ClosedRange<Int>) {
        // Places that come in order extend the last range, or follow it.
        if let last = ranges.last, new.lowerBound >= last.lowerBound {
            if new.lowerBound > last.upperBound + 1 { return ranges.append(new) }
            if new.upperBound > last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound...new.upperBound
            }
            return
        }
        let first = ranges.firstIndex { $0.upperBound >= new.lowerBound - 1 } ?? ranges.count
        var end = first
        var merged = new
        while end < ranges.count, ranges[end].lowerBound <= new.upperBound + 1 {
            let low = min(merged.lowerBound, ranges[end].lowerBound)
            merged = low...max(merged.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(first..<end, with: CollectionOfOne(merged))
    }

    mutating func remove(_ old: ClosedRange<Int>) {
        guard let last = ranges.last, old.lowerBound <= last.upperBound else { return }
        ranges = ranges.flatMap { range -> [ClosedRange<Int>] in
            guard range.overlaps(old) else { return [range] }
            var rest: [ClosedRange<Int>] = []
            if range.lowerBound < old.lowerBound {
                rest.append(range.lowerBound...(old.lowerBound - 1))
            }
            if range.upperBound > old.upperBound {
                rest.append((old.upperBound + 1)...range.upperBound)
            }
            return rest
        }
    }

    mutating func formUnion(_ other: Slots) {
        for range in other.ranges { insert(range) }
    }

    mutating func subtract(_ other: Slots) {
        for range in other.ranges { remove(range) }
    }

    func contains(_ place: Int) -> Bool { contains(place...place) }

    /// Whether it contains every place of the range.
    func contains(_ range: ClosedRange<Int>) -> Bool {
        // Nearly every call concerns the last range.
        guard let last = ranges.last, range.upperBound <= last.upperBound else { return false }
        if range.lowerBound >= last.lowerBound { return true }
        return ranges.contains {
            $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
        }
    }
}
