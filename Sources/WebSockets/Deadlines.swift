/// The deadlines of all connections, on one timer: a timing wheel with slots of a tenth of a
/// second. Setting a deadline costs an append; postponing one costs nothing, because an entry that
/// comes up too early is just inserted again. (The timers of libwebsockets are one sorted list, in
/// which each insertion walks past all earlier ones.) Used on the loop thread.
struct Deadlines {
    /// A time on the monotonic clock, in slots since an arbitrary start.
    typealias Tick = UInt64

    static let millisecondsPerTick = 100
    private static let slotCount: Tick = 512

    private var slots = [[SocketID]](repeating: [], count: Int(slotCount))
    /// All slots up to this one have been processed.
    private var current: Tick
    private(set) var count = 0

    init(now: Tick) {
        current = now
    }

    /// Schedules `id` for `tick`, or earlier if that is beyond the length of the wheel.
    ///
    /// - Returns: the scheduled tick.
    mutating func insert(_ id: SocketID, at tick: Tick) -> Tick {
        let tick = min(max(tick, current + 1), current + Self.slotCount - 1)
        slots[Int(tick % Self.slotCount)].append(id)
        count += 1
        return tick
    }

    /// The entries due by `now`, with their scheduled ticks; at most `limit`, the rest with the
    /// next call.
    mutating func advance(
        to now: Tick, limit: Int = .max
    ) -> [(id: SocketID, tick: Tick)] {
        var due: [(id: SocketID, tick: Tick)] = []
        // After a long sleep of the machine one revolution is enough.
        let first = max(current + 1, now >= Self.slotCount ? now - Self.slotCount + 1 : 0)
        if now >= first {
            for tick in first...now {
                let slot = Int(tick % Self.slotCount)
                let taken = slots[slot].suffix(limit - due.count)
                due.append(contentsOf: taken.map { ($0, tick) })
                slots[slot].removeLast(taken.count)
                guard slots[slot].isEmpty else { break }
                current = tick
            }
        }
        count -= due.count
        return due
    }

    /// Whether entries due by `now` were not returned yet.
    func isBehind(_ now: Tick) -> Bool { current < now && count > 0 }
}
