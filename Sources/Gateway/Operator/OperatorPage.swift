import Configuration
import Engine
import JSON
import Upstream
import WebSockets
import Wire

/// The operator's page and its event stream: who watches, and when they are sent the next event.
/// Lives on the loop.
final class OperatorPage {
    /// The most streams of `/events` at once.
    private static let streams = 8
    /// A report takes at most this fraction (1/200) of the loop's time.
    private static let share = 200
    /// A page calls a gateway silent that it has not heard for five seconds, and on a busy machine
    /// the cost is mostly the time of others.
    private static let longestPause = Duration.seconds(3)
    private static let pause = Duration.seconds(1)

    private let engine: Engine
    private let server: Server
    private let board: StatusBoard
    private let entrance: Entrance
    private let instruments: Instruments
    private let page = PageFiles.installed("operator")
    private var watchers: Set<SocketID> = []
    private var hour = LastHour()
    private var nextPoint = ContinuousClock.now
    private var nextLook = ContinuousClock.now
    private var lastLook: ContinuousClock.Instant?

    init(
        _ engine: Engine, _ server: Server, _ board: StatusBoard, _ entrance: Entrance,
        _ instruments: Instruments
    ) {
        self.engine = engine
        self.server = server
        self.board = board
        self.entrance = entrance
        self.instruments = instruments
    }

    /// Answers with a file of the page.
    func answer(_ path: String, _ responder: HTTPResponder) {
        guard let file = page?[path] else {
            return responder.respond(
                .error(
                    RequestError(
                        .pathNotFound,
                        "path: the files of the page were not found beside the program")))
        }
        responder.respond(
            HTTPResponse(
                status: 200,
                headers: [
                    .init("Content-Type", file.contentType), .init("Cache-Control", "no-store"),
                    .init("X-Content-Type-Options", "nosniff"), .init("X-Frame-Options", "DENY"),
                    .init("Referrer-Policy", "no-referrer"),
                    .init(
                        "Content-Security-Policy",
                        "default-src 'none'; script-src 'self'; style-src 'self'; "
                            + "connect-src 'self'; img-src data:; "
                            + "base-uri 'none'; form-action 'none'; "
                            + "require-trusted-types-for 'script'; trusted-types 'none'; "
                            + "frame-ancestors 'none'"),
                ], body: file.bytes))
    }

    /// Starts a stream: first the last hour, then a report once a second.
    func answerEvents(_ responder: HTTPResponder) {
        watchers = watchers.filter(server.isStreaming)
        guard watchers.count < Self.streams else {
            var response = HTTPResponse.error(
                RequestError(
                    .limitEventStreams, "at most \(Self.streams) streams of /events at once",
                    after: 10_000))
            response.status = 503
            return responder.respond(response)
        }
        let head = HTTPResponse(
            status: 200,
            headers: [
                .init("Content-Type", "text/event-stream"), .init("Cache-Control", "no-store"),
                .init("X-Content-Type-Options", "nosniff"), .init("X-Accel-Buffering", "no"),
            ])
        guard let socket = responder.stream(head) else { return }
        watchers.insert(socket)
        server.stream(
            Array("retry: 2000\n\n".utf8) + Self.event("hour", hour.json), to: socket)
    }

    private static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// Called every 100 ms. Without watchers it only adds a point to the plots every ten seconds.
    func tell() {
        let began = ContinuousClock.now
        if began >= nextPoint {
            nextPoint = began + .seconds(LastHour.step)
            takePoint()
        }
        guard !watchers.isEmpty, began >= nextLook else { return }
        watchers = watchers.filter(server.isStreaming)
        let takers = watchers.filter(server.takesPiece)
        guard !takers.isEmpty else { return }
        let span = lastLook.map { began - $0 } ?? .seconds(1)
        lastLook = began
        let event = Self.event("now", report(after: span).json)
        for socket in takers { server.stream(event, to: socket) }
        let cost = ContinuousClock.now - began
        nextLook = began + min(max(Self.pause, cost * Self.share), Self.longestPause)
    }

    private func takePoint() {
        let report = engine.report
        let accounting = report.settledAccounting
        let figures = report.figures
        let measured = instruments.measurements
        let counts = LastHour.Counts(
            requests: figures.requests, changes: measured.changes, written: accounting.written,
            coalesced: accounting.coalesced, failedFetches: measured.failedFetches,
            turn: measured.turn, fanout: measured.fanout, fetch: measured.fetch,
            operation: measured.operation)
        guard
            let point = hour.take(
                counts, connections: report.sessionCount, at: instruments.clock.now())
        else {
            return
        }
        for socket in watchers {
            server.stream(Self.event("point", LastHour.json(of: point)), to: socket)
        }
    }

    private func report(after span: Duration) -> OperatorReport {
        let overview = engine.report.overview(OperatorReport.named)
        let snapshot = board.snapshot(overview.totals, blocked: overview.blocked)
        return OperatorReport(
            at: instruments.clock.timeOfDay, snapshot: snapshot, overview: overview,
            span: span / .seconds(1),
            gaps: snapshot.sync.openGaps > 0 ? engine.report.openGaps() : [],
            limits: limits(snapshot, overview), point: hour.points.last,
            notices: instruments.log.notices.latest, name: { [engine] in engine.publicName(of: $0) }
        )
    }

    private func limits(_ snapshot: Snapshot, _ overview: Overview) -> [OperatorReport.Limit] {
        let limits = entrance.configuration.limits
        var rows = [
            OperatorReport.Limit(
                name: "Connections", key: "limits.connections",
                used: Double(snapshot.clients.sessions),
                limit: Double(limits.connections),
                remedy: "Add a gateway, or raise it with LimitNOFILE."),
            OperatorReport.Limit(
                name: "Descriptors", key: "LimitNOFILE", used: Double(snapshot.process.descriptors),
                limit: Double(snapshot.process.descriptorLimit),
                remedy: "Raise LimitNOFILE (ulimit -n)."),
            OperatorReport.Limit(
                name: "HTTP requests at once", key: "limits.http_connections",
                used: Double(server.requestsUnderWay),
                limit: Double(entrance.configuration.listen.httpConnections),
                remedy: "Look at who calls the server API so often, and whether the origin is slow."
            ),
            OperatorReport.Limit(
                name: "Bytes that wait for the slowest reader", key: "limits.outbox_hard",
                used: Double(overview.slowest.first?.waiting ?? 0),
                limit: Double(limits.outboxHard),
                remedy: "Nothing: it is told a gap, and is closed at the limit."),
            OperatorReport.Limit(
                name: "Streams of this page", key: "", used: Double(watchers.count),
                limit: Double(Self.streams), remedy: "Close pages that nobody looks at."),
        ]
        if let queue = snapshot.upstream.faults.notificationQueue {
            rows.append(
                OperatorReport.Limit(
                    name: "Notification queue of Postgres", key: "pg_notification_queue_usage()",
                    used: queue, limit: 1,
                    remedy: "Find the session that listens and stays in a transaction, and end it.")
            )
        }
        return rows
    }
}

extension LastHour {
    /// All points, oldest first.
    var json: [UInt8] {
        var json = JSONWriter(capacity: 64 + points.count * 256)
        json.beginArray()
        for point in points { json.point(point) }
        json.endArray()
        return json.bytes
    }

    static func json(of point: Point) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.point(point)
        return json.bytes
    }
}
