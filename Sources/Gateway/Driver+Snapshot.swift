import Cache
import Chat
import Configuration
import Engine
import Upstream
import WebSockets
import Wire

/// The driver's state for health, metrics and the service manager.
extension Driver {
    /// A status line for the service manager.
    var status: String {
        let upstream = engine.report.upstream
        let state = engine.isDraining ? "draining" : "upstream \(upstream.state.rawValue)"
        return "\(Release.version), \(server.connectionCount) connections, \(state)"
    }

    /// - Parameters:
    ///   - totals: the engine's totals, if counted already.
    ///   - blocked: the number of sessions with a blocked socket, if counted already.
    func snapshot(_ totals: Totals? = nil, blocked: Int? = nil) -> Snapshot {
        let now = now()
        lookAtFeed()
        let report = engine.report
        let figures = totals ?? report.totals()
        // The embedded log counts its own commits; those of a replica are measured by the driver.
        let writer = (upstream as? Embedded)?.figures
        let lines = log.limit.figures
        return Snapshot(
            version: Release.version,
            uptime: Int((now.milliseconds - started.milliseconds) / 1000),
            upstreamKind: upstream.kind, upstreamState: report.upstream.state,
            upstreamSince: report.upstream.since,
            lastEventAge: lastEvent.map { Double(now.milliseconds - $0.milliseconds) / 1000 },
            isWritable: !cache.isLost, cacheFailure: cache.failure,
            cacheRemedy: cache.remedy, certificateDaysLeft: server.certificateDaysLeft,
            cachedMessages: (try? reader.messageCount()) ?? 0,
            cacheBytes: store.bytes, sessions: figures.sessions,
            subscriptions: figures.subscriptions, streams: figures.streams,
            outboxBytes: figures.outboxBytes, isDraining: engine.isDraining,
            accounting: figures.accounting, figures: report.figures, sync: report.syncFigures(),
            blocked: blocked ?? engine.sockets.blockedSessions().count,
            commits: writer?.commits ?? measurements.commits,
            committedWrites: writer?.rows ?? measurements.writes,
            failedCommits: writer?.rollbacks ?? measurements.failedCommits,
            residentBytes: Process.residentBytes(), processorSeconds: Process.processorSeconds(),
            descriptors: Process.descriptors(), descriptorLimit: Process.descriptorLimit(),
            refusedConnections: server.refusedConnections, isShortOfDescriptors: shortage.lasts,
            logLines: lines.written, suppressedLines: lines.suppressed,
            faults: upstream.faults,
            offlineFor: report.unlinkedSince.map {
                Double(now.milliseconds - $0.milliseconds) / 1000
            },
            isFeedLost: feed.isLost)
    }

    /// Updates the feed's readiness.
    func lookAtFeed() {
        feed.look(
            offlineSince: engine.report.unlinkedSince,
            grace: Int64(configuration.health.readyGrace), at: now())
    }
}
