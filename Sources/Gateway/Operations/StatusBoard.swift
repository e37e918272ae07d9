import Cache
import Chat
import Configuration
import Engine
import Ports
import Upstream
import WebSockets
import Wire

/// The gateway's state for health, metrics and the service manager, with what only they need to
/// know: whether the feed counts as live, and whether descriptors ran out. Lives on the loop.
final class StatusBoard {
    private let engine: Engine
    private let server: Server
    private let upstream: any Upstream
    private let cache: CacheFile
    private let entrance: Entrance
    private let instruments: Instruments
    /// When the feed said something last.
    var lastEvent: Timestamp?
    /// Whether the origin's feed counts as live, for readiness.
    private var feed = FeedReadiness()
    /// Connections refused because no file descriptor was left.
    private var shortage = Shortage()

    init(
        _ engine: Engine, _ server: Server, _ upstream: any Upstream, _ cache: CacheFile,
        _ entrance: Entrance, _ instruments: Instruments
    ) {
        self.engine = engine
        self.server = server
        self.upstream = upstream
        self.cache = cache
        self.entrance = entrance
        self.instruments = instruments
    }

    /// A status line for the service manager.
    var line: String {
        let upstream = engine.report.upstream
        let state = engine.isDraining ? "draining" : "upstream \(upstream.state.rawValue)"
        return "\(Release.version), \(server.connectionCount) connections, \(state)"
    }

    /// - Parameters:
    ///   - totals: the engine's totals, if counted already.
    ///   - blocked: the number of sessions with a blocked socket, if counted already.
    func snapshot(_ totals: Totals? = nil, blocked: Int? = nil) -> Snapshot {
        let now = instruments.clock.now()
        lookAtFeed()
        let report = engine.report
        let figures = totals ?? report.totals()
        let lines = instruments.log.limit.figures
        let uptime = now.milliseconds - instruments.clock.started.milliseconds
        return Snapshot(
            version: Release.version, commit: Release.commit, uptime: Int(uptime / 1000),
            upstream: feed(report, at: now),
            cache: cache.snapshot, certificateDaysLeft: server.certificateDaysLeft,
            clients: Snapshot.Clients(
                sessions: figures.sessions, subscriptions: figures.subscriptions,
                streams: figures.streams, outboxBytes: figures.outboxBytes,
                blocked: blocked ?? engine.sockets.blockedSessions().count,
                refused: server.refusedConnections),
            isDraining: engine.isDraining, accounting: figures.accounting, figures: report.figures,
            sync: report.syncFigures(), commits: commits, writes: instruments.measurements.writes,
            process: Snapshot.ProcessUse(isShortOfDescriptors: shortage.lasts),
            log: Snapshot.LogLines(
                lines: lines.written, suppressed: lines.suppressed,
                dropped: instruments.log.sink.dropped))
    }

    private func feed(_ report: EngineReport, at now: Timestamp) -> Snapshot.Upstream {
        func seconds(since moment: Timestamp) -> Double {
            Double(now.milliseconds - moment.milliseconds) / 1000
        }
        return Snapshot.Upstream(
            kind: upstream.kind, state: report.upstream.state, since: report.upstream.since,
            lastEventAge: lastEvent.map(seconds), faults: upstream.faults,
            offlineFor: report.unlinkedSince.map(seconds), isFeedLost: feed.isLost)
    }

    /// The embedded log counts its own commits; those of a replica are measured here.
    private var commits: Snapshot.Commits {
        let measured = instruments.measurements
        guard let writer = (upstream as? Embedded)?.figures else {
            return measured.commits
        }
        return Snapshot.Commits(
            count: writer.commits, writes: writer.rows, failed: writer.rollbacks)
    }

    /// Updates the feed's readiness.
    func lookAtFeed() {
        feed.look(
            offlineSince: engine.report.unlinkedSince,
            grace: Int64(entrance.configuration.health.readyGrace), at: instruments.clock.now())
    }

    /// Logs refused connections (no file descriptors left) at once, then every minute while the
    /// shortage lasts.
    func noteShortage() {
        switch shortage.look(refused: server.refusedConnections, at: .now) {
        case .began(let count), .goesOn(let count):
            instruments.log.say(
                .descriptorsExhausted,
                ["refused": "\(count)", "limit": "\(Process.descriptorLimit())"])
        case .ended: instruments.log.say(.descriptorsSufficient)
        case nil: break
        }
    }
}
