/// Why a connection is not read, if it is not. Bytes that the library read before that wait here.
struct ReadGate {
    /// Backpressure: the peer does not take what was sent, so nothing more is read from it.
    var isPaused = false
    /// Whoever serves the connection does not want to hear it for now.
    var isUnwanted = false
    /// When the connection is read again, after it sent too much that is free of charge.
    var restEnd: Deadlines.Tick?
    /// It waits for its turn among connections that sent much.
    var isWaiting = false
    /// Bytes that were read and are not to be processed yet, at most one read.
    var held: [UInt8] = []
    private var toll = Toll()

    /// Whether bytes that arrive have to wait, for another reason than backpressure.
    var isThrottled: Bool { isUnwanted || restEnd != nil || isWaiting }

    /// Charges one message that is otherwise free.
    /// - Parameter now: milliseconds of the monotonic clock.
    /// - Returns: whether the connection has to rest, and does not yet.
    mutating func charge(at now: UInt64) -> Bool { toll.take(at: now) && restEnd == nil }

    /// - Returns: the bytes that waited, which are to be processed now.
    mutating func takeHeld() -> [UInt8] {
        defer { held = [] }
        return held
    }
}

/// How much input of large reads one turn of the loop processes. Whoever sends much waits for the
/// next turns, so that a small request waits for one of them and not for all.
struct ReadTurn {
    /// Connections whose input waits, in the order in which it came.
    private var waiting: [SocketID] = []
    /// Bytes that were processed in this turn.
    private var bytes = 0
    private var isReleasing = false
    /// A job that goes on in the next turn was posted.
    private var isPosted = false

    /// A read of this size is processed at once, some 0.1 ms of work.
    private static let small = 4 << 10
    /// After so many bytes of a turn, some 1 ms of work, other large reads wait.
    private static let limit = 32 << 10

    mutating func begin() { bytes = 0 }

    /// Whether to process a read of so many bytes now.
    mutating func admits(_ count: Int) -> Bool {
        let isAdmitted =
            count <= Self.small || isReleasing || waiting.isEmpty && bytes < Self.limit
        if isAdmitted { bytes += count }
        return isAdmitted
    }

    /// - Returns: whether a job must be posted that goes on in the next turn.
    mutating func wait(_ id: SocketID) -> Bool {
        waiting.append(id)
        return post()
    }

    private mutating func post() -> Bool {
        guard !isPosted else { return false }
        isPosted = true
        return true
    }

    /// The posted job runs.
    mutating func beginRelease() { (isPosted, isReleasing) = (false, true) }

    /// The connection that has waited longest, as far as the turn allows.
    mutating func takeNext() -> SocketID? {
        bytes < Self.limit && !waiting.isEmpty ? waiting.removeFirst() : nil
    }

    /// - Returns: whether a job must be posted for the rest.
    mutating func endRelease() -> Bool {
        isReleasing = false
        return !waiting.isEmpty && post()
    }
}
