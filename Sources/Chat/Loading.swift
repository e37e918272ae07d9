// The one rule for loading, by places. Every view of a conversation, in each language, asks by it;
// `Tests/Vectors/loading.json` says what it answers.

/// What is known of a densely or otherwise numbered log, by places.
public struct KnownPlaces: Sendable, Hashable {
    /// What is held.
    public var runs: Coverage
    /// The oldest place that the origin has.
    public var floor: Int
    /// The newest place given; below `floor` if the log is empty.
    public var head: Int
    /// What nobody gets by asking: gaps that the gateway heals by pushing, or nobody.
    public var closed: Coverage

    /// What is known.
    public init(runs: Coverage, floor: Int, head: Int, closed: Coverage = Coverage()) {
        self.runs = runs
        self.floor = floor
        self.head = head
        self.closed = closed
    }

    /// What is missing and can be had, of all that the log has.
    var missing: Coverage {
        floor > head ? Coverage() : Coverage(floor, head).subtracting(runs).subtracting(closed)
    }
}

/// What a load is for.
public enum LoadWant: Sendable, Hashable {
    /// The reader scrolls to older messages. The places of the first and the last row in view, held
    /// or not; nil where nothing is in view.
    case up(ClosedRange<Int>?)
    /// The reader scrolls to newer messages; the same.
    case down(ClosedRange<Int>?)
    /// What stands directly above the last message seen, which has this place.
    case banner(Int)
    /// A place with its neighbours.
    case jump(Int)
}

/// What is asked for: the params of `fetchMessages`, but for conversation and limit.
public struct Load: Sendable, Hashable {
    /// The order of the answer; between two anchors, also the end that it begins from.
    public enum Order: String, Sendable, Hashable, CaseIterable { case asc, desc }

    /// The answer lies before this place.
    public var before: Int?
    /// The answer lies behind this place.
    public var after: Int?
    /// The answer has this place in its middle.
    public var around: Int?
    /// From which end.
    public var order: Order

    /// A load; without an anchor, the latest messages.
    public init(
        before: Int? = nil, after: Int? = nil, around: Int? = nil, order: Order = .desc
    ) {
        self.before = before
        self.after = after
        self.around = around
        self.order = order
    }
}

/// What to ask for next; nil for nothing.
///
/// The gap nearest to what is visible, in the direction of the scroll; for the banner the gap
/// directly above the last message seen; for a jump the surroundings of the target. It is asked for
/// from the end that touches what is held, so that what comes joins; if no end does, it becomes a
/// run of its own. Neighbouring gaps are one, whatever their causes.
/// - Complexity: O(runs)
public func nextLoad(for want: LoadWant, in known: KnownPlaces) -> Load? {
    guard known.head >= known.floor else { return nil }
    let missing = known.missing
    switch want {
    case .jump(let seq):
        return known.runs.contains(seq) ? nil : Load(around: seq)
    case .banner(let seen):
        let next = max(seen, known.floor - 1) + 1
        return missing.run(at: next).map {
            load(Coverage.Run(next, $0.high), from: .asc, known)
        }
    case .up(let view):
        let last = view?.upperBound ?? known.runs.first ?? .max
        return missing.runs.last { $0.low <= last }.map { loadInto($0, from: .desc, known) }
    case .down(let view):
        let first = view?.lowerBound ?? known.runs.first ?? 0
        if let hole = missing.runs.first(where: { $0.high >= first }) {
            return loadInto(hole, from: .asc, known)
        }
        // Whoever has scrolled over a hole to the newest end gets the rest too, and reaches it by
        // its newer end.
        return missing.runs.last { $0.low > known.runs.first ?? .max }
            .map { loadInto($0, from: .desc, known) }
    }
}

/// - Parameter wish: the end to ask from (`asc` for the older one), unless only the other one
///   touches what is held.
private func loadInto(_ hole: Coverage.Run, from wish: Load.Order, _ known: KnownPlaces) -> Load {
    let touches = (
        older: known.runs.contains(hole.low - 1), newer: known.runs.contains(hole.high + 1)
    )
    if !touches.older, !touches.newer, hole.high >= known.head { return Load() }
    let order: Load.Order = touches.older == touches.newer ? wish : touches.older ? .asc : .desc
    return load(hole, from: order, known)
}

private func load(_ hole: Coverage.Run, from order: Load.Order, _ known: KnownPlaces) -> Load {
    let isHistory = order == .desc && hole.high < known.runs.first ?? 0
    return Load(
        before: hole.high < known.head ? hole.high + 1 : nil,
        after: isHistory ? nil : hole.low - 1, order: order)
}
