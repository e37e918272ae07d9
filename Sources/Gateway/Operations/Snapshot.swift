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
    /// Seconds since the feed last told anything; nil if it never did.
    var lastEventAge: Double?
    /// Whether the cache's file can be written, and could for two seconds after it could not.
    var isWritable: Bool
    /// Why not, in the words of the file system or of SQLite.
    var cacheFailure = ""
    var cachedMessages: Int
    var cacheBytes: Int
    var sessions: Int
    var subscriptions: Int
    var streams: Int
    var outboxBytes: Int
    var isDraining: Bool
    var accounting: Accounting
    var figures: Figures
    /// What the gateway lacks of an origin that lives elsewhere.
    var sync: SyncFigures
    /// Connections whose sockets take nothing at the moment.
    var blocked: Int
    /// Transactions that are in the file, what was written in them, and those that failed.
    var commits: Int
    var committedWrites: Int
    var failedCommits: Int
    var residentBytes: Int
    var processorSeconds: Double
    var descriptors: Int
    var descriptorLimit: Int
    /// Connections that were closed at once because there was no descriptor for them.
    var refusedConnections = 0
    /// Whether that happened in the last minute.
    var isShortOfDescriptors = false
    /// Lines of the log, by level, and those that were left out because they repeat.
    var logLines: [Configuration.Log.Level: Int]
    var suppressedLines: Int

    /// What went wrong at the upstream.
    var faults = UpstreamFaults()
    /// Seconds for which the feed has been offline; nil if it is not.
    var offlineFor: Double?
    /// Whether it counts as lost: longer than `health.ready_grace`, or not back for long enough.
    var isFeedLost = false
}

extension Snapshot {
    /// Ready means: the feed is live (or catching up), the cache is writable, nothing drains.
    var isReady: Bool {
        !isDraining && isWritable && !isFeedLost
    }

    /// `down`: nothing can be served as promised; `degraded`: served, with something amiss.
    var status: String {
        if !isWritable || isDraining { return "down" }
        let isSound =
            accounting.error == 0 && sync.openGaps == 0 && faults.trouble == nil
            && !isShortOfDescriptors
        // A feed that has just come back and is not trusted yet is not `ok`: readiness says so too.
        return upstreamState == .online && !isFeedLost && isSound ? "ok" : "degraded"
    }
}
