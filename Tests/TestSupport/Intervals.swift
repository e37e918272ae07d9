/// Closed intervals of `seq`, written plainly and apart from the gateway's `Coverage`, which it
/// checks: disjoint, ascending, never touching.
package struct Intervals: Sendable, Hashable {
    package private(set) var ranges: [ClosedRange<Int>] = []

    package init() {}

    package init(_ ranges: [ClosedRange<Int>]) {
        for range in ranges { insert(range) }
    }

    /// Reads `[[low, high], …]`.
    ///
    /// - Throws: `TestFailure` where the value is not in the normal form of the protocol.
    package init(_ value: JSONValue) throws {
        for pair in value.array ?? [] {
            guard let low = pair[0].int, let high = pair[1].int, pair.array?.count == 2,
                low <= high, low > (ranges.last?.upperBound ?? -1) + 1
            else { throw TestFailure("coverage is not in normal form") }
            ranges.append(low...high)
        }
    }

    package var json: JSONValue {
        .array(ranges.map { [.int($0.lowerBound), .int($0.upperBound)] })
    }

    package var isEmpty: Bool { ranges.isEmpty }

    package func contains(_ place: Int) -> Bool {
        // The first range that does not end below the place, by halving: lists grow to thousands.
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < place { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(place)
    }

    package mutating func insert(_ range: ClosedRange<Int>) {
        var merged = range
        var others: [ClosedRange<Int>] = []
        for other in ranges {
            if other.upperBound + 1 < merged.lowerBound || merged.upperBound + 1 < other.lowerBound
            {
                others.append(other)
            } else {
                let low = min(other.lowerBound, merged.lowerBound)
                merged = low...max(other.upperBound, merged.upperBound)
            }
        }
        let position = others.firstIndex { $0.lowerBound > merged.lowerBound } ?? others.count
        others.insert(merged, at: position)
        ranges = others
    }

    package mutating func remove(_ range: ClosedRange<Int>) {
        ranges = ranges.flatMap { other -> [ClosedRange<Int>] in
            guard other.overlaps(range) else { return [other] }
            var rest: [ClosedRange<Int>] = []
            if other.lowerBound < range.lowerBound {
                rest.append(other.lowerBound...(range.lowerBound - 1))
            }
            if other.upperBound > range.upperBound {
                rest.append((range.upperBound + 1)...other.upperBound)
            }
            return rest
        }
    }

    package mutating func formUnion(_ other: Intervals) {
        // One walk over both: a holder's runs and an answer's covers can be a thousand each.
        let all = (ranges + other.ranges).sorted { $0.lowerBound < $1.lowerBound }
        ranges = []
        for range in all {
            if let last = ranges.last, range.lowerBound <= last.upperBound + 1 {
                let high = max(last.upperBound, range.upperBound)
                ranges[ranges.count - 1] = last.lowerBound...high
            } else {
                ranges.append(range)
            }
        }
    }

    package func subtracting(_ other: Intervals) -> Intervals {
        var rest = Intervals()
        var next = 0
        for range in ranges {
            var low = range.lowerBound
            while next < other.ranges.count, other.ranges[next].upperBound < low { next += 1 }
            var at = next
            while at < other.ranges.count, other.ranges[at].lowerBound <= range.upperBound {
                let hole = other.ranges[at]
                if low < hole.lowerBound { rest.ranges.append(low...(hole.lowerBound - 1)) }
                low = hole.upperBound + 1
                at += 1
            }
            if low <= range.upperBound { rest.ranges.append(low...range.upperBound) }
        }
        return rest
    }
}
