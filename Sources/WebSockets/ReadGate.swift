import Wire

/// Why a connection is not read, if it is not. Bytes that the library read before that wait here.
struct ReadGate {
    /// Backpressure: the peer does not take what was sent, so nothing more is read from it.
    var isPaused = false
    /// The server behind the connection does not want to hear it for now.
    var isUnwanted = false
    /// The next message is too large for a stranger.
    var isOwnerless = false
    /// When the connection is read again, after it sent too much that is free of charge.
    var restEnd: Deadlines.Tick?
    /// It waits for its turn among connections that sent much.
    var isWaiting = false
    /// Whose turns it waits for, once that is known.
    var user: ID?
    /// Bytes that were read and are not to be processed yet, at most one read.
    var held: [UInt8] = []
    private var toll = Toll()

    /// Whether bytes that arrive have to wait, for another reason than backpressure.
    var isThrottled: Bool { isUnwanted || isOwnerless || restEnd != nil || isWaiting }

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

extension [UInt8] {
    /// Not byte by byte: each `append` would look for room again.
    mutating func append(copying bytes: borrowing Span<UInt8>) {
        let start = count
        append(contentsOf: repeatElement(0, count: bytes.count))
        var target = mutableSpan
        for index in bytes.indices { target[start + index] = bytes[index] }
    }
}
