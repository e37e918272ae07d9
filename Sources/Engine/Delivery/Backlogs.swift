import Chat

/// The readers whose sockets take nothing, and the bytes that wait for all of them together. Each
/// has limits of its own; only the sum bounds the memory of many.
struct Backlogs {
    private var readers: [SessionID: (session: Session, bytes: Int)] = [:]
    private(set) var bytes = 0

    var count: Int { readers.count }

    /// Notes how much waits for a reader whose socket is full.
    mutating func note(_ session: Session) {
        let now = session.lane.outbox.backlog
        bytes += now - (readers[session.id]?.bytes ?? 0)
        readers[session.id] = (session, now)
    }

    /// The reader's socket takes more, or the reader is gone.
    mutating func remove(_ session: Session) {
        guard let reader = readers.removeValue(forKey: session.id) else { return }
        bytes -= reader.bytes
    }

    /// Those for whom most waits come first.
    var largestFirst: [Session] {
        readers.values.sorted { $0.bytes > $1.bytes }.map(\.session)
    }
}
