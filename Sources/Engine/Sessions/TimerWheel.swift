import Chat

/// A timer wheel for sessions, with slots of a tenth of a second: ten thousand idle sessions cost a
/// few hundred looks a second and no sorted list.
struct TimerWheel {
    private static let width: Int64 = 100

    private var slots: [Int64: [SessionID]] = [:]
    /// The first slot that was not emptied.
    private var next: Int64?
    /// Due sessions that were not handed out, in order from `start` on.
    private var waiting: [SessionID] = []
    private var start = 0

    /// Sets a timer for the session: due in the slot of `time` or just after it.
    mutating func schedule(_ session: SessionID, at time: Timestamp) {
        let slot = (time.milliseconds + Self.width - 1) / Self.width
        slots[max(slot, next ?? slot), default: []].append(session)
    }

    /// Whether timers are due that were not handed out.
    var isBehind: Bool { start < waiting.count }

    /// Lets time pass.
    mutating func advance(to now: Timestamp) {
        let slot = now.milliseconds / Self.width
        let from = next ?? slot
        guard from <= slot else { return }
        next = slot + 1
        // After a long pause, looking through the existing slots is faster than walking all
        // possible ones.
        let due =
            slot - from > 4096 ? slots.keys.filter { $0 <= slot }.sorted() : Array(from...slot)
        for slot in due { waiting += slots.removeValue(forKey: slot) ?? [] }
    }

    /// The sessions whose timers are due, at most `limit`, each handed out once.
    mutating func take(_ limit: Int) -> ArraySlice<SessionID> {
        let taken = waiting[start..<min(waiting.count, start + limit)]
        start = taken.endIndex
        if start == waiting.count { (waiting, start) = ([], 0) }
        return taken
    }
}
