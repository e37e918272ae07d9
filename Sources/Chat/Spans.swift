/// The parts of a list that are known without a hole: intervals between cuts, ascending, disjoint
/// and never touching. A timeline owns one; it is a plain value.
///
/// A `Coverage` of places can't express this for a list without numbers, where nothing is known of
/// what may lie between two messages. A cut lies *beside* a message, or at the start or end of
/// everything; in numbered lists the cut after a place is the one before the next, so that adjacent
/// places join.
struct Spans: Sendable, Equatable {
    /// A cut between places.
    enum Cut: Sendable, Comparable {
        /// Before everything that ever was.
        case start
        /// Right before a number.
        case number(Int)
        /// Right before (0) or right after (1) a message without a number.
        case beside(Place, Int)
        /// After everything that is and that is still to come.
        case end

        static func before(_ place: Place) -> Cut {
            place.number == .max ? .beside(place, 0) : .number(place.number)
        }

        static func behind(_ place: Place) -> Cut {
            place.number == .max ? .beside(place, 1) : .number(place.number + 1)
        }
    }

    /// The interval between two cuts, `low < high`.
    struct Span: Sendable, Equatable {
        var low: Cut
        var high: Cut
    }

    private(set) var list: [Span] = []

    var isEmpty: Bool { list.isEmpty }
    var low: Cut? { list.first?.low }
    var high: Cut? { list.last?.high }

    init() {}

    init(_ coverage: Coverage) {
        list = coverage.runs.map { Span(low: .number($0.low), high: .number($0.high + 1)) }
    }

    /// The places of a numbered list.
    var coverage: Coverage {
        Coverage(
            list.compactMap { span in
                guard case .number(let low) = span.low, case .number(let high) = span.high else {
                    return nil
                }
                return Coverage.Run(low, high - 1)
            })
    }

    /// The index of the first span that ends at or after `cut`.
    private func index(endingAt cut: Cut) -> Int {
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle].high < cut { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether everything from `low` to `high` is known; an empty interval always is.
    func contains(_ low: Cut, _ high: Cut) -> Bool {
        guard low < high else { return true }
        let at = index(endingAt: high)
        return at < list.count && list[at].low <= low
    }

    func contains(_ place: Place) -> Bool { contains(.before(place), .behind(place)) }

    func contains(_ other: Spans) -> Bool { other.list.allSatisfy { contains($0.low, $0.high) } }

    /// Adds the interval from `low` to `high`; nothing if it is empty.
    mutating func insert(_ low: Cut, _ high: Cut) {
        guard low < high else { return }
        let start = index(endingAt: low)
        var end = start
        var joined = Span(low: low, high: high)
        while end < list.count, list[end].low <= high {
            joined.low = min(joined.low, list[end].low)
            joined.high = max(joined.high, list[end].high)
            end += 1
        }
        list.replaceSubrange(start..<end, with: CollectionOfOne(joined))
    }

    mutating func insert(_ other: Spans) {
        for span in other.list { insert(span.low, span.high) }
    }

    /// Removes the interval from `low` to `high`.
    mutating func remove(_ low: Cut, _ high: Cut) {
        guard low < high else { return }
        let start = index(endingAt: low)
        var end = start
        var rest: [Span] = []
        while end < list.count, list[end].low < high {
            if list[end].low < low { rest.append(Span(low: list[end].low, high: low)) }
            if list[end].high > high { rest.append(Span(low: high, high: list[end].high)) }
            end += 1
        }
        list.replaceSubrange(start..<end, with: rest)
    }

    mutating func remove(_ other: Spans) {
        for span in other.list { remove(span.low, span.high) }
    }

    /// The part from `low` to `high`.
    func clipped(_ low: Cut, _ high: Cut) -> Spans {
        var result = Spans()
        for span in list { result.insert(max(span.low, low), min(span.high, high)) }
        return result
    }
}
