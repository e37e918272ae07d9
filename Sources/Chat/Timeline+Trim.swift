/// How a timeline stays small while a reader walks through a long history.
extension Timeline {
    /// How many messages beyond the view, and at the newest end, are kept when the rest is trimmed:
    /// about two screens of fast scrolling in each direction before a fetch is necessary.
    public static let keptBeside = 200

    /// Trims what is far from the view on both sides, from the coverage too. Where the list follows
    /// the end, the newest messages stay, so that a jump there costs nothing.
    public mutating func trim(visible: Range<Int>) -> Changes {
        var edits = Edits()
        trimNewer(than: visible, &edits)
        trimOlder(than: visible, &edits)
        return commit(edits)
    }

    /// Trims both ends so that `count` messages are left: the part `focus` of the excess from the
    /// oldest end, the rest from the newest.
    ///
    /// - Parameter focus: the position of the view, from 0 (the oldest message) to 1 (the newest).
    ///   Values outside are clamped; NaN counts as 1, which leaves the newest messages.
    public mutating func trim(to count: Int, focus: Double) -> Changes {
        let excess = rows.entries.count - max(count, 0)
        guard excess > 0 else { return Changes() }
        let place = focus.isNaN ? 1 : min(1, max(0, focus))
        let older = min(excess, Int(place * Double(excess)))
        var edits = Edits()
        trim(from: rows.entries.count - (excess - older), to: rows.entries.count, &edits)
        trim(from: 0, to: older, &edits)
        return commit(edits)
    }

    /// Trims what a reader leaves behind by scrolling in the direction of `kind`.
    mutating func leave(by kind: Page.Kind, visible: Range<Int>, _ edits: inout Edits) {
        switch kind {
        case .before: trimNewer(than: visible, &edits)
        case .after: trimOlder(than: visible, &edits)
        case .around: trimRuns(before: visible.lowerBound, &edits)
        case .initial, .latest: break
        }
    }

    private mutating func trimNewer(than visible: Range<Int>, _ edits: inout Edits) {
        let kept = followsEnd ? Self.keptBeside - 1 : 0
        trim(from: visible.upperBound + Self.keptBeside, to: rows.entries.count - kept, &edits)
    }

    private mutating func trimOlder(than visible: Range<Int>, _ edits: inout Edits) {
        trim(from: 0, to: visible.lowerBound - Self.keptBeside, &edits)
    }

    /// Trims the runs that lie wholly before an index. The last run always stays.
    private mutating func trimRuns(before index: Int, _ edits: inout Edits) {
        let left = runs.dropLast().last { $0.items.upperBound <= index && !$0.items.isEmpty }
        if let left { trim(from: 0, to: left.items.upperBound, &edits) }
    }

    private mutating func trim(from low: Int, to high: Int, _ edits: inout Edits) {
        let low = max(low, 0)
        // A message that is still being sent exists only here.
        let unsent = rows.givenCount
        let high = min(high, unsent)
        guard low < high else { return }
        for index in low..<high { edits.set(rows.entries[index].message.id, nil) }
        let reachesEnd = high == unsent
        let from = low == 0 ? .min : rows.entries[low].place.number
        coverage.remove(from, reachesEnd ? .max : rows.entries[high - 1].place.number)
        if reachesEnd { followsEnd = false }
    }
}
