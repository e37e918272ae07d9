import Chat
import Configuration
import Engine
import Upstream
import Wire

/// The gateway's state at one moment, as health and metrics show it. Taken on the loop.
struct Snapshot: Sendable {
    var version: String
    /// Seconds since the start.
    var uptime: Int
    var upstreamKind: String
    var upstreamState: UpstreamState
    var upstreamSince: Timestamp
    /// Seconds since the last event of the feed; nil if there was none.
    var lastEventAge: Double?
    /// Whether the cache's file can be written, and could for two seconds after it could not.
    var isWritable: Bool
    /// The error of the file system or of SQLite, if it can't.
    var cacheFailure = ""
    /// What is to be done about it.
    var cacheRemedy = ""
    /// Of the certificate of TLS, below zero when it has expired; nil where there is none.
    var certificateDaysLeft: Int?
    var cachedMessages: Int
    var cacheBytes: Int
    var sessions: Int
    var subscriptions: Int
    var streams: Int
    var outboxBytes: Int
    var isDraining: Bool
    var accounting: Accounting
    var figures: Figures
    /// Gaps and fetches, if the origin lives elsewhere.
    var sync: SyncFigures
    /// Connections whose sockets are blocked.
    var blocked: Int
    /// Committed transactions, the writes in them, and failed transactions.
    var commits: Int
    var committedWrites: Int
    var failedCommits: Int
    var residentBytes: Int
    var processorSeconds: Double
    var descriptors: Int
    var descriptorLimit: Int
    /// Connections refused because no file descriptor was left.
    var refusedConnections = 0
    /// Whether one was refused in the last minute.
    var isShortOfDescriptors = false
    /// Log lines by level, and those dropped because they repeat.
    var logLines: [Configuration.Log.Level: Int]
    var suppressedLines: Int

    /// Faults of the upstream.
    var faults = UpstreamFaults()
    /// Seconds for which the feed has been offline; nil if it is not.
    var offlineFor: Double?
    /// Whether the feed counts as lost: offline for longer than `health.ready_grace`, or not back
    /// for long enough.
    var isFeedLost = false
}

extension Snapshot {
    /// Ready: the feed is live (or catching up), the cache is writable, nothing drains.
    var isReady: Bool {
        !isDraining && isWritable && !isFeedLost
    }

    /// `down`: not writable, or draining; `degraded`: served, but with a problem.
    var status: String {
        if !isWritable || isDraining { return "down" }
        let isSound =
            accounting.error == 0 && sync.openGaps == 0 && faults.trouble == nil
            && !isShortOfDescriptors && certificateDaysLeft ?? 0 >= 0
        // A feed that has just come back counts as lost for a while, here as in readiness.
        return upstreamState == .online && !isFeedLost && isSound ? "ok" : "degraded"
    }
}
