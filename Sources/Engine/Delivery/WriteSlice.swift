/// How much of what waits for sockets one turn writes. A message to ten thousand readers is 40 ms
/// of work, one of 30 KB to fifty readers two. Written in slices of half a millisecond, they don't
/// delay the small conversations and replies between others, which are written in any turn.
package struct WriteSlice: Sendable, Equatable {
    /// An outbox with at most so many bytes is written in any turn.
    package var small = 16 << 10
    /// An event to more subscribers than this goes to them in slices.
    package var crowd = 128
    /// The cost of the writes of one turn that are sliced; more by at most one write, or by what
    /// one session has above half of its soft limit whose requests have waited for long.
    package var budget = 512 << 10
    /// How many threads write to sockets.
    package var loops = 1

    /// The most bytes of one write.
    package static let write = 65_536
    /// A write costs the kernel some 4 µs, and 1 µs more for each KiB.
    private static let perWrite = 4 << 10

    package init() {}

    func isSmall(_ bytes: Int) -> Bool { bytes <= small }

    /// Everything but a single write to one reader takes turns, for simulated worlds.
    package static let tiny: WriteSlice = {
        var slice = WriteSlice()
        (slice.small, slice.crowd, slice.budget) = (200, 1, 1)
        return slice
    }()

    /// The cost of a write of an outbox with so many bytes.
    static func cost(of bytes: Int) -> Int { perWrite + min(bytes, write) }

    /// The cost of as many writes of it as leave at most `rest` bytes.
    static func cost(of bytes: Int, downTo rest: Int) -> Int {
        let writes = (bytes - rest + write - 1) / write
        return writes * perWrite + min(bytes, writes * write)
    }
}

/// The sessions whose writes are sliced, in the order in which they came. Each has a place, counted
/// from 1; a session that is written otherwise meanwhile leaves its place void.
struct WriteQueue {
    private var sessions: [Session] = []
    private var start = 0
    /// How many were taken from the beginning on.
    private var taken = 0

    var isEmpty: Bool { start == sessions.count }
    /// The place of the last one.
    var last: Int { taken + sessions.count - start }

    /// Whether all up to that place were taken.
    func isPast(_ place: Int) -> Bool { taken >= place || isEmpty }

    /// - Returns: its place.
    mutating func append(_ session: Session) -> Int {
        sessions.append(session)
        return last
    }

    mutating func removeFirst() -> (session: Session, place: Int)? {
        guard !isEmpty else { return nil }
        let session = sessions[start]
        start += 1
        taken += 1
        if start == sessions.count {
            sessions.removeAll(keepingCapacity: sessions.capacity <= 1024)
            start = 0
        } else if start > 1024, start > sessions.count / 2 {
            sessions.removeFirst(start)
            start = 0
        }
        return (session, taken)
    }
}
