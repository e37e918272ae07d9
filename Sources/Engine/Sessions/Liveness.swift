import Chat

/// Whether a connection is alive, and when it is looked at next. Part of a session.
struct Liveness {
    /// When the connection came.
    let since: Timestamp
    /// When its socket last took bytes, or a pong came.
    private var lastProgress: Timestamp
    /// When the WebSocket ping went out that has no pong yet.
    private var pingSent: Timestamp?
    private(set) var lastPing: Timestamp
    /// When it is looked at next; earlier entries of the timers are stale.
    var nextLook: Timestamp

    init(at now: Timestamp) {
        since = now
        lastProgress = now
        lastPing = now
        nextLook = now
    }

    /// Since when nothing was heard of it though it was pinged; nil if nothing is awaited.
    var silentSince: Timestamp? { pingSent.map { max($0, lastProgress) } }

    /// Its socket took bytes.
    mutating func progressed(at now: Timestamp) { lastProgress = now }

    /// A ping goes out.
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
