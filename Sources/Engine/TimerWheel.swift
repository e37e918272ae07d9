import Chat

/// Which sessions are to be looked at when: one slot a second, so that ten thousand idle sessions
/// cost a few hundred looks a second and no sorted list.
struct TimerWheel {
    private var slots: [Int64: [SessionID]] = [:]
    /// The first second that was not handed out yet.
    private var next: Int64?

    /// Has the session looked at in the second in which `time` lies, or right after it.
    mutating func schedule(_ session: SessionID, at time: Timestamp) {
        let second = (time.milliseconds + 999) / 1000
        slots[max(second, next ?? second), default: []].append(session)
    }

    /// Whom to look at now, each handed out once.
    mutating func due(at now: Timestamp) -> [SessionID] {
        let second = now.milliseconds / 1000
        guard let from = next else {
            next = second
            return due(at: now)
        }
        guard from <= second else { return [] }
        next = second + 1
        // After a long pause walking the slots that exist beats walking the seconds.
        if second - from > 4096 {
            let keys = slots.keys.filter { $0 <= second }.sorted()
            return keys.flatMap { slots.removeValue(forKey: $0) ?? [] }
        }
        return (from...second).flatMap { slots.removeValue(forKey: $0) ?? [] }
    }
}
