import Engine

/// What the engine has decided and is not done yet, and since when each of it waits, in two lanes.
/// Deeds (to write, to tell, to ask elsewhere) cost little and are done at once, in their order.
/// Readings of the file cost what their answers are long, and come behind all deeds: whoever asks
/// for thousands of them makes nobody's message wait. A reading that comes later sees more, and
/// never less than it was asked for.
///
/// Owned by the driver, on the loop; it is as long as what the engine asks for, which has its own
/// limits.
struct ActionQueue {
    private var deeds: [Engine.Action].SubSequence = []
    private var readings: [(action: Engine.Action, since: ContinuousClock.Instant)].SubSequence = []
    /// How many deeds were appended and taken since the start.
    private(set) var appended = 0
    private(set) var taken = 0
    /// When the reading that was taken last had been decided.
    private(set) var since = ContinuousClock.now

    var isEmpty: Bool { deeds.isEmpty && readings.isEmpty }

    mutating func append(_ decided: [Engine.Action], at now: ContinuousClock.Instant) {
        for action in decided {
            if case .read = action {
                readings.append((action, now))
            } else {
                deeds.append(action)
                appended += 1
            }
        }
    }

    var areDeedsDone: Bool { deeds.isEmpty }

    mutating func popDeed() -> Engine.Action? {
        guard let deed = deeds.popFirst() else { return nil }
        taken += 1
        // A slice keeps what was taken from it.
        if deeds.isEmpty { deeds = [] }
        return deed
    }

    mutating func popReading() -> Engine.Action? {
        guard let reading = readings.popFirst() else { return nil }
        if readings.isEmpty { readings = [] }
        since = reading.since
        return reading.action
    }
}
