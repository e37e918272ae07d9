// The one rule for loading, by places. Every view of a conversation, in each language, uses it;
// `Tests/Vectors/loading.json` has the expected answers.

/// What is known of a log, by places.
public struct KnownPlaces: Sendable, Hashable {
    /// The places held.
    public var runs: Coverage
    /// The oldest place that the origin still has.
    public var floor: Int
    /// The newest place given; below `floor` if the log is empty.
    public var head: Int
    /// The places that no request brings: gaps that the gateway heals by pushing, or that nobody
    /// can heal.
    public var closed: Coverage

    /// What is known.
    public init(runs: Coverage, floor: Int, head: Int, closed: Coverage = Coverage()) {
        self.runs = runs
        self.floor = floor
        self.head = head
        self.closed = closed
    }

    /// The places of the log that are missing and can be fetched.
    var missing: Coverage {
        floor > head ? Coverage() : Coverage(floor, head).subtracting(runs).subtracting(closed)
    }
}

/// What a load is for.
public enum LoadWant: Sendable, Hashable {
    /// The reader scrolls to older messages. The range is that of the first and the last row in
    /// view, held or not; nil if nothing is in view.
    case up(ClosedRange<Int>?)
    /// The reader scrolls to newer messages; the range is as for `up`.
    case down(ClosedRange<Int>?)
    /// The messages directly above the last one seen, which has this place.
    case banner(Int)
    /// A place with its neighbours.
    case jump(Int)
}

/// A request for messages: the params of `fetchMessages`, except conversation and limit.
public struct Load: Sendable, Hashable {
    /// The order of the answer; between two anchors, also the end from which it begins.
    public enum Order: String, Sendable, Hashable, CaseIterable { case asc, desc }

    /// The answer lies before this place.
    public var before: Int?
    /// The answer lies behind this place.
    public var after: Int?
    /// The answer has this place in its middle.
    public var around: Int?
    /// The order of the answer.
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

/// The next request to make; nil for none.
///
/// Chooses the gap nearest to the view in the direction of the scroll; for the banner, the gap
/// directly above the last message seen; for a jump, the surroundings of the target. Loads a gap
/// from the end that touches held places, so that the answer joins them; if neither end does, the
/// answer becomes a run of its own. Adjacent gaps count as one, whatever their causes.
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
        // A reader who has scrolled past a hole to the newest end gets the hole too, from its newer
        // end.
        return missing.runs.last { $0.low > known.runs.first ?? .max }
            .map { loadInto($0, from: .desc, known) }
    }
}

/// - Parameter wish: the end to load from (`asc` for the older one), unless only the other end
///   touches held places.
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
