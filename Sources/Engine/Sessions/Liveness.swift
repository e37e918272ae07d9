import Chat

/// Whether a connection is alive, and when its timer is due. Part of a session.
struct Liveness {
    /// When the connection was accepted.
    let since: Timestamp
    /// When its socket last took bytes, or a pong came.
    private var lastProgress: Timestamp
    /// When the oldest WebSocket ping without a pong was sent.
    private var pingSent: Timestamp?
    private(set) var lastPing: Timestamp
    /// When its timer is due; earlier entries in the timer wheel are stale.
    var nextLook: Timestamp

    init(at now: Timestamp) {
        since = now
        lastProgress = now
        lastPing = now
        nextLook = now
    }

    /// Since when a pinged connection has been silent; nil if no pong is awaited.
    var silentSince: Timestamp? { pingSent.map { max($0, lastProgress) } }

    /// Its socket took bytes.
    mutating func progressed(at now: Timestamp) { lastProgress = now }

    /// A ping is sent.
    mutating func pinged(at now: Timestamp) {
        pingSent = pingSent ?? now
        lastPing = now
    }

    /// A pong came.
    mutating func ponged(at now: Timestamp) {
        pingSent = nil
        lastProgress = now
    }
}
