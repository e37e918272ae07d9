/// A set of message places: closed intervals of `seq`, disjoint, ascending, never touching.
///
/// Coverage tells "nothing was said" from "we did not hear it". It is a plain value and an interval
/// algebra; every holder of messages keeps one beside them. Adjacent intervals are joined (`[1, 3]`
/// and `[4, 6]` are `[1, 6]`), so two coverages are equal exactly if they hold the same places.
///
/// Places are integers from 0 up (0 is the conversation's own record, where a caller includes it);
/// the largest is below 2^53, so `high + 1` never overflows.
public struct Coverage: Sendable, Hashable {
    /// One closed interval, `low <= high`.
    public struct Run: Sendable, Hashable {
        /// The lowest place held.
        public var low: Int
        /// The highest place held.
        public var high: Int

        /// The interval from `low` to `high`, both held.
        /// - Precondition: `low <= high`
        public init(_ low: Int, _ high: Int) {
            precondition(low <= high, "a run's low end is above its high end")
            self.low = low
            self.high = high
        }

        /// The interval from `low` to `high`, from untrusted input; nil unless 0 <= low <= high <
        /// 2^53.
        public init?(checking low: Int, _ high: Int) {
            guard 0 <= low, low <= high, high < 1 << 53 else { return nil }
            self.init(low, high)
        }

        /// How many places the run holds.
        public var count: Int { high - low + 1 }

        /// Whether `place` lies in the run.
        public func contains(_ place: Int) -> Bool { low <= place && place <= high }
    }

    /// The intervals, ascending.
    public private(set) var runs: [Run]

    /// Empty coverage.
    public init() { runs = [] }

    /// One interval; empty if `low > high`.
    public init(_ low: Int, _ high: Int) { runs = low <= high ? [Run(low, high)] : [] }

    /// The union of `runs`; they may overlap and come in any order.
    public init(_ runs: some Sequence<Run>) {
        self.runs = []
        var sorted = Array(runs)
        sorted.sort { $0.low < $1.low }
        for run in sorted { append(run) }
    }

    /// The union of `runs`.
    /// - Complexity: O(runs) if each run starts at or above the start of the one before it.
    public init(ascending runs: [Run]) {
        self.runs = []
        self.runs.reserveCapacity(runs.count)
        for run in runs {
            if let last = self.runs.last, run.low < last.low {
                insert(run.low, run.high)
            } else {
                append(run)
            }
        }
    }

    /// The given places, in any order.
    public init(places: some Sequence<Int>) {
        self.init(places.map { Run($0, $0) })
    }

    /// Whether nothing is held.
    public var isEmpty: Bool { runs.isEmpty }
    /// How many places are held.
    public var count: Int { runs.reduce(0) { $0 + $1.count } }
    /// The lowest place held.
    public var first: Int? { runs.first?.low }
    /// The highest place held.
    public var last: Int? { runs.last?.high }

    /// Adds a run that starts at or after the start of the last one.
    private mutating func append(_ run: Run) {
        if let last = runs.last, run.low <= last.high + 1 {
            runs[runs.count - 1].high = max(last.high, run.high)
        } else {
            runs.append(run)
        }
    }

    /// The index of the first run that ends at or after `place`.
    private func index(atOrAfter place: Int) -> Int {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].high < place { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether `place` is held.
    /// - Complexity: O(log runs)
    public func contains(_ place: Int) -> Bool {
        runIndex(at: place) != nil
    }

    /// Whether every place from `low` to `high` is held. An empty interval always is.
    public func contains(_ low: Int, _ high: Int) -> Bool {
        guard low <= high else { return true }
        let at = index(atOrAfter: low)
        return at < runs.count && runs[at].low <= low && high <= runs[at].high
    }

    /// Whether every place of `other` is held.
    public func contains(_ other: Coverage) -> Bool {
        other.runs.allSatisfy { contains($0.low, $0.high) }
    }

    /// The run that holds `place`.
    /// - Complexity: O(log runs)
    public func run(at place: Int) -> Run? {
        runIndex(at: place).map { runs[$0] }
    }

    /// The index in `runs` of the run that holds `place`.
    func runIndex(at place: Int) -> Int? {
        let at = index(atOrAfter: place)
        return at < runs.count && runs[at].low <= place ? at : nil
    }

    /// Adds the places from `low` to `high`; nothing if `low > high`.
    /// - Complexity: O(log runs + runs after the insertion)
    public mutating func insert(_ low: Int, _ high: Int) {
        guard low <= high else { return }
        let start = index(atOrAfter: low - 1)
        var end = start
        var joined = Run(low, high)
        while end < runs.count, runs[end].low <= high + 1 {
            joined.low = min(joined.low, runs[end].low)
            joined.high = max(joined.high, runs[end].high)
            end += 1
        }
        runs.replaceSubrange(start..<end, with: CollectionOfOne(joined))
    }

    /// Removes the places from `low` to `high`; nothing if `low > high`.
    public mutating func remove(_ low: Int, _ high: Int) {
        guard low <= high else { return }
        let start = index(atOrAfter: low)
        var end = start
        var rest: [Run] = []
        while end < runs.count, runs[end].low <= high {
            let run = runs[end]
            if run.low < low { rest.append(Run(run.low, low - 1)) }
            if run.high > high { rest.append(Run(high + 1, run.high)) }
            end += 1
        }
        runs.replaceSubrange(start..<end, with: rest)
    }

    /// Whether any place from `low` to `high` is held.
    /// - Complexity: O(log runs)
    func intersects(_ low: Int, _ high: Int) -> Bool {
        let at = index(atOrAfter: low)
        return low <= high && at < runs.count && runs[at].low <= high
    }

    /// The places in either coverage.
    /// - Complexity: O(runs of both)
    public func union(_ other: Coverage) -> Coverage {
        if other.isEmpty { return self }
        if isEmpty { return other }
        var result = Coverage()
        result.runs.reserveCapacity(runs.count + other.runs.count)
        var a = 0
        var b = 0
        while a < runs.count || b < other.runs.count {
            if b == other.runs.count || (a < runs.count && runs[a].low <= other.runs[b].low) {
                result.append(runs[a])
                a += 1
            } else {
                result.append(other.runs[b])
                b += 1
            }
        }
        return result
    }

    /// The places in both coverages.
    public func intersection(_ other: Coverage) -> Coverage {
        var result = Coverage()
        var a = 0
        var b = 0
        while a < runs.count, b < other.runs.count {
            let low = max(runs[a].low, other.runs[b].low)
            let high = min(runs[a].high, other.runs[b].high)
            if low <= high { result.append(Run(low, high)) }
            if runs[a].high < other.runs[b].high { a += 1 } else { b += 1 }
        }
        return result
    }

    /// The places in this coverage that are not in `other`.
    public func subtracting(_ other: Coverage) -> Coverage {
        guard !isEmpty, !other.isEmpty else { return self }
        var result = Coverage()
        var b = 0
        for run in runs {
            var low = run.low
            while b < other.runs.count, other.runs[b].high < low { b += 1 }
            var at = b
            while at < other.runs.count, other.runs[at].low <= run.high {
                let cut = other.runs[at]
                if cut.low > low { result.append(Run(low, cut.low - 1)) }
                low = cut.high + 1
                at += 1
            }
            if low <= run.high { result.append(Run(low, run.high)) }
        }
        return result
    }

    /// The interval from `low` to `high`; empty if `low > high`.
    package static func closed(_ low: Int, _ high: Int) -> Coverage {
        low <= high ? Coverage(low, high) : Coverage()
    }

    /// The part from `low` to `high`.
    public func clipped(_ low: Int, _ high: Int) -> Coverage {
        low <= high ? intersection(Coverage(low, high)) : Coverage()
    }

    /// The places between the lowest and the highest place held that are not held.
    public var holes: Coverage {
        guard let first, let last else { return Coverage() }
        return Coverage(first, last).subtracting(self)
    }

    /// A superset with at most `limit` runs (at least 1). Joins the closest runs first, so that it
    /// adds as few places as possible.
    /// - Parameter places: gaps with any of them stay open as long as others can be closed instead.
    public func coarsened(to limit: Int, sparing places: Coverage = Coverage()) -> Coverage {
        let limit = max(1, limit)
        guard runs.count > limit else { return self }
        let distances = (1..<runs.count).map { at in
            let isSpared = places.intersects(runs[at - 1].high + 1, runs[at].low - 1)
            return (
                isSpared: isSpared ? 1 : 0, distance: runs[at].low - runs[at - 1].high, at: at
            )
        }
        let joins = distances.sorted { $0 < $1 }
            .prefix(runs.count - limit)
        let joined = Set(joins.map(\.at))
        var result = Coverage()
        for (at, run) in runs.enumerated() {
            if joined.contains(at) {
                result.runs[result.runs.count - 1].high = run.high
            } else {
                result.runs.append(run)
            }
        }
        return result
    }
}

extension Coverage: ExpressibleByArrayLiteral {
    /// `[[1, 50], [80, 96]]`, as the protocol writes it.
    public init(arrayLiteral elements: [Int]...) {
        self.init(elements.map { Run($0[0], $0[1]) })
    }
}

extension Coverage: CustomStringConvertible {
    /// As the protocol writes it: `[[1,50],[80,96]]`.
    public var description: String {
        "[" + runs.map { "[\($0.low),\($0.high)]" }.joined(separator: ",") + "]"
    }
}
