import Chat

/// Whether the cache's file can be written, for readiness, health, metrics and the log. It counts
/// as lost from the first failed write until the last write succeeded and nothing has failed for
/// two seconds: a full disk takes a small write now and then, and this keeps readiness from
/// flapping. A value: results of writes go in, and it is polled once a second.
struct CacheReadiness {
    enum News: Equatable {
        /// The file can't be written, for this many seconds so far.
        case lost(seconds: Int)
        case back
    }

    /// How long it has to stay writable, in milliseconds.
    static let stay: Int64 = 2000
    /// How often a loss is logged while it lasts, in milliseconds.
    static let interval: Int64 = 60_000

    /// Whether the last write succeeded.
    private(set) var isWritable = true
    /// The reason of the last failure, in the words of the file system or of SQLite.
    private(set) var failure = ""
    /// What is to be done about it.
    private(set) var remedy = ""
    private var lostSince: Timestamp?
    private var writableSince: Timestamp?
    private var toldAt: Timestamp?

    var isLost: Bool { lostSince != nil }

    mutating func fail(_ failure: String, remedy: String = "", at now: Timestamp) {
        isWritable = false
        (self.failure, self.remedy) = (failure, remedy)
        writableSince = nil
        lostSince = lostSince ?? now
    }

    mutating func succeed(at now: Timestamp) {
        isWritable = true
        writableSince = writableSince ?? now
    }

    /// The change to log now: when the file is lost, every minute while that lasts, and when it is
    /// back.
    mutating func look(at now: Timestamp) -> News? {
        guard let lostSince else { return nil }
        if let writableSince, now.milliseconds - writableSince.milliseconds >= Self.stay {
            (self.lostSince, toldAt) = (nil, nil)
            return .back
        }
        if let toldAt, now.milliseconds - toldAt.milliseconds < Self.interval { return nil }
        toldAt = now
        return .lost(seconds: Int((now.milliseconds - lostSince.milliseconds) / 1000))
    }
}
