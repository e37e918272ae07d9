/// The deadlines of all connections, on one timer: a wheel of slots, each a tenth of a second wide.
/// Setting a deadline costs an append; moving one further away costs nothing, because an entry that
/// comes up too early is just put in again. (The timers of libwebsockets stand in one sorted list,
/// where each insertion walks past all earlier ones.) Touched on the loop thread.
struct Deadlines {
    /// A moment on the monotonic clock, in slots since an arbitrary one.
    typealias Tick = UInt64

    static let millisecondsPerTick = 100
    private static let slotCount: Tick = 512

    private var slots = [[SocketID]](repeating: [], count: Int(slotCount))
    /// All slots up to this one have been looked at.
    private var current: Tick
    private(set) var count = 0

    init(now: Tick) {
        current = now
    }

    /// Has `id` come up at `tick`, or before if that is further away than the wheel is long.
    ///
    /// - Returns: the tick at which it comes up.
    mutating func insert(_ id: SocketID, at tick: Tick) -> Tick {
        let tick = min(max(tick, current + 1), current + Self.slotCount - 1)
        slots[Int(tick % Self.slotCount)].append(id)
        count += 1
        return tick
    }

    /// What has come up by `now`, with the tick that it was inserted for; at most `limit`, and then
    /// the rest comes with the next call.
    mutating func advance(
        to now: Tick, limit: Int = .max
    ) -> [(id: SocketID, tick: Tick)] {
        var due: [(id: SocketID, tick: Tick)] = []
        // After a long sleep of the machine once around is enough.
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

    /// Whether something has come up by `now` that was not handed out.
    func isBehind(_ now: Tick) -> Bool { current < now && count > 0 }
}
