import Ports

/// Reads of the cache that were decided and not begun, oldest first. Those that would hold the
/// turns up stand in a line of their own, of which one at a time is under way. It is as long as
/// what the engine asks for, which has its own limits.
struct ReadQueue {
    private var quick: [CacheRead].SubSequence = []
    private var slow: [CacheRead].SubSequence = []
    private var isReadingSlow = false

    /// Whether there is one to begin with.
    var hasNext: Bool { !quick.isEmpty || hasNextSlow }
    /// Whether nothing waits and nothing is under way.
    var isIdle: Bool { quick.isEmpty && slow.isEmpty && !isReadingSlow }
    private var hasNextSlow: Bool { !isReadingSlow && !slow.isEmpty }

    mutating func append(_ reads: [Engine.Read], since instant: Duration) {
        for read in reads {
            quick.append(CacheRead(token: read.token, query: read.query, since: instant))
        }
    }

    /// The read turned out to take long.
    mutating func appendSlow(_ read: CacheRead) { slow.append(read) }

    mutating func popQuick() -> CacheRead? { Self.pop(&quick) }

    /// The slow read whose turn has come, while none is under way.
    mutating func popSlow() -> CacheRead? { hasNextSlow ? Self.pop(&slow) : nil }

    mutating func noteSlowBegan() { isReadingSlow = true }
    mutating func noteSlowEnded() { isReadingSlow = false }

    private static func pop(_ reads: inout [CacheRead].SubSequence) -> CacheRead? {
        let read = reads.popFirst()
        // A slice keeps what was taken from it.
        if reads.isEmpty { reads = [] }
        return read
    }
}
