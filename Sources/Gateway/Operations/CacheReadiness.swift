import Chat
import Ports

/// Whether the cache's file can be written, for readiness, health, metrics and the log. It counts
/// as lost from the first write that failed, or that the disk has not answered for long, until the
/// last write succeeded and nothing has failed or waited for two seconds: a full disk takes a small
/// write now and then, and this keeps readiness from flapping. A value: results of writes go in,
/// and it is polled once a second.
struct CacheReadiness {
    enum News: Equatable {
        /// The file can't be written, for this many seconds so far.
        case lost(seconds: Int)
        case back
    }

    /// How long it has to stay writable, in milliseconds.
    static let stay: Int64 = 2000
    /// How long a write may wait for the disk, and how long while the file counts as lost.
    static let patience = Duration.seconds(5)
    static let promptness = Duration.seconds(1)
    /// How often a loss is logged while it lasts, in milliseconds.
    static let interval: Int64 = 60_000

    /// Whether the last write succeeded.
    private(set) var isWritable = true
    /// Whether a write waits for the disk, longer than it may.
    private(set) var isHung = false
    /// The reason of the last failure, in the words of the file system or of SQLite.
    private(set) var failure = ""
    /// What the operator is told of it.
    private(set) var event = LogEvent.cacheUnwritable
    private var lostSince: Timestamp?
    private var writableSince: Timestamp?
    private var toldAt: Timestamp?

    var isLost: Bool { lostSince != nil }

    mutating func fail(
        _ failure: String, _ event: LogEvent = .cacheUnwritable, at now: Timestamp
    ) {
        isWritable = false
        (self.failure, self.event) = (failure, event)
        writableSince = nil
        lostSince = lostSince ?? now
    }

    mutating func succeed(at now: Timestamp) {
        isWritable = true
        if !isHung { writableSince = writableSince ?? now }
    }

    /// - Parameter wait: how long what is written has waited for the disk; nil if nothing is.
    mutating func waited(_ wait: Duration?, at now: Timestamp) {
        guard let wait, wait >= (isLost ? Self.promptness : Self.patience) else {
            guard isHung else { return }
            isHung = false
            if isWritable { writableSince = now }
            return
        }
        isHung = true
        writableSince = nil
        lostSince = lostSince ?? now
        guard isWritable else { return }
        failure = "the disk has not answered for \(Int(wait / .seconds(1))) s"
        event = .cacheUnwritable
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
