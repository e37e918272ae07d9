import Chat
import Configuration
import Engine
import Ports
import Upstream
import Wire

/// The gateway's state at one moment, as health and metrics show it. Taken on the loop.
struct Snapshot: Sendable {
    /// The origin, and its feed.
    struct Upstream: Sendable {
        var kind: String
        var state: UpstreamState
        var since: Timestamp
        /// Seconds since the last event of the feed; nil if there was none.
        var lastEventAge: Double?
        var faults = UpstreamFaults()
        /// Seconds for which the feed has been offline; nil if it is not.
        var offlineFor: Double?
        /// Whether the feed counts as lost: offline for longer than `health.ready_grace`, or not
        /// back for long enough.
        var isFeedLost = false
    }

    /// The cache's file.
    struct Cache: Sendable {
        /// Whether it can be written, and could for two seconds after it could not.
        var isWritable: Bool
        /// The error of the file system or of SQLite, if it can't.
        var failure = ""
        /// What the operator is told of it.
        var event = LogEvent.cacheUnwritable
        var messages: Int
        var bytes: Int
        /// Free on its disk; nil if the system does not say.
        var freeBytes: Int?
        /// How long what is written now has waited for the disk.
        var wait = Duration.zero
    }

    /// Transactions of the cache.
    struct Commits: Sendable {
        var count: Int
        /// The writes in them.
        var writes: Int
        var failed: Int
    }

    /// Writes that the upstream has not answered yet.
    struct Writes: Sendable {
        var count: Int
        /// How long the oldest has waited.
        var oldest: Duration
    }

    struct Clients: Sendable {
        var sessions: Int
        var subscriptions: Int
        var streams: Int
        var outboxBytes: Int
        /// Connections whose sockets are blocked.
        var blocked: Int
        /// Connections refused because no file descriptor was left.
        var refused: Int
    }

    /// What the process takes of the machine.
    struct ProcessUse: Sendable {
        var residentBytes = Process.residentBytes()
        var processorSeconds = Process.processorSeconds()
        var descriptors = Process.descriptors()
        var descriptorLimit = Process.descriptorLimit()
        /// Whether a connection was refused in the last minute, because none was left.
        var isShortOfDescriptors: Bool
    }

    /// Log lines by level, and those dropped because they repeat.
    struct LogLines: Sendable {
        var lines: [Configuration.Log.Level: Int]
        var suppressed: Int
        /// Lines dropped because the buffer of the log was full.
        var dropped: Int
    }

    var version: String
    var commit: String
    /// Seconds since the start.
    var uptime: Int
    var upstream: Upstream
    var cache: Cache
    /// Of the certificate of TLS, below zero when it has expired; nil where there is none.
    var certificateDaysLeft: Int?
    var clients: Clients
    var isDraining: Bool
    var accounting: Accounting
    var figures: Figures
    /// Gaps and fetches, if the origin lives elsewhere.
    var sync: SyncFigures
    var commits: Commits
    var writes: Writes
    var process: ProcessUse
    var log: LogLines
}

extension Snapshot {
    /// Ready: the feed is live (or catching up), the cache is writable, nothing drains.
    var isReady: Bool {
        !isDraining && cache.isWritable && !upstream.isFeedLost
    }

    /// What `status` may be.
    static let statuses = ["ok", "degraded", "down"]

    /// `down`: not writable, or draining; `degraded`: served, but with a problem.
    var status: String {
        if !cache.isWritable || isDraining { return "down" }
        let isSound =
            accounting.error == 0 && sync.openGaps == 0 && upstream.faults.trouble == nil
            && !process.isShortOfDescriptors && certificateDaysLeft ?? 0 >= 0
        // A feed that has just come back counts as lost for a while, here as in readiness.
        return upstream.state == .online && !upstream.isFeedLost && isSound ? "ok" : "degraded"
    }
}
