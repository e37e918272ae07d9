import Engine

/// What the engine has decided and is not done yet, in order, and since when each of it waits.
/// Owned by the driver, on the loop; it is as long as what the engine asks for, which has its own
/// limits.
struct ActionQueue {
    private var actions: [Engine.Action].SubSequence = []
    /// Where what was decided at one moment ends.
    private var batches: [(end: Int, since: ContinuousClock.Instant)].SubSequence = []
    /// How many were appended and taken since the start.
    private(set) var appended = 0
    private(set) var taken = 0
    /// When the action that was taken last had been decided.
    private(set) var since = ContinuousClock.now

    var isEmpty: Bool { actions.isEmpty }

    mutating func append(_ decided: [Engine.Action], at now: ContinuousClock.Instant) {
        guard !decided.isEmpty else { return }
        if actions.isEmpty { actions = decided[...] } else { actions += decided }
        appended += decided.count
        batches.append((appended, now))
    }

    mutating func popFirst() -> Engine.Action? {
        guard let action = actions.popFirst() else { return nil }
        taken += 1
        if let batch = batches.first {
            since = batch.since
            if batch.end <= taken { batches.removeFirst() }
        }
        // A slice keeps what was taken from it.
        if actions.isEmpty {
            actions = []
            batches = []
        }
        return action
    }
}
