import Configuration
import Engine
import JSON
import Upstream
import WebSockets
import Wire

/// The streams of the operator's page, and when they are sent the next event.
struct OperatorDesk {
    /// The most streams of `/events` at once.
    static let streams = 8
    /// A report takes at most this fraction (1/200) of the loop's time.
    static let share = 200
    static let pause = Duration.seconds(1)

    var watchers: Set<SocketID> = []
    var hour = LastHour()
    var nextPoint = ContinuousClock.now
    var nextLook = ContinuousClock.now
    var lastLook: ContinuousClock.Instant?
    let page = PageFiles.installed("operator")
}

/// The operator's page and its event stream.
extension Driver {
    /// Answers with a file of the page.
    func answerOperator(_ path: String, _ responder: HTTPResponder) {
        guard let file = desk.page?[path] else {
            return responder.respond(
                .error(
                    RequestError(
                        .notFound,
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
        desk.watchers = desk.watchers.filter(server.isStreaming)
        guard desk.watchers.count < OperatorDesk.streams else {
            var response = HTTPResponse.error(
                RequestError(
                    .rateLimited, "at most \(OperatorDesk.streams) streams of /events at once",
                    retry: .later, after: 10_000))
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
        desk.watchers.insert(socket)
        server.stream(
            Array("retry: 2000\n\n".utf8) + Self.event("hour", desk.hour.json), to: socket)
    }

    private static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// Called every 100 ms. Without watchers it only adds a point to the plots every ten seconds.
    func tellOperators() {
        let began = ContinuousClock.now
        if began >= desk.nextPoint {
            desk.nextPoint = began + .seconds(LastHour.step)
            takePoint()
        }
        guard !desk.watchers.isEmpty, began >= desk.nextLook else { return }
        desk.watchers = desk.watchers.filter(server.isStreaming)
        let takers = desk.watchers.filter(server.takesPiece)
        guard !takers.isEmpty else { return }
        let span = desk.lastLook.map { began - $0 } ?? .seconds(1)
        desk.lastLook = began
        let event = Self.event("now", report(after: span).json)
        for socket in takers { server.stream(event, to: socket) }
        let cost = ContinuousClock.now - began
        desk.nextLook = began + max(OperatorDesk.pause, cost * OperatorDesk.share)
    }

    private func takePoint() {
        let report = engine.report
        let accounting = report.settledAccounting
        let figures = report.figures
        let counts = LastHour.Counts(
            requests: figures.requests, changes: measurements.changes, written: accounting.written,
            coalesced: accounting.coalesced, failedFetches: measurements.failedFetches,
            turn: measurements.turn, fanout: measurements.fanout, fetch: measurements.fetch,
            operation: measurements.operation)
        guard let point = desk.hour.take(counts, connections: report.sessionCount, at: now()) else {
            return
        }
        for socket in desk.watchers {
            server.stream(Self.event("point", LastHour.json(of: point)), to: socket)
        }
    }

    private func report(after span: Duration) -> OperatorReport {
        let overview = engine.report.overview(OperatorReport.named)
        let snapshot = snapshot(overview.totals, blocked: overview.blocked)
        return OperatorReport(
            at: timeOfDay, snapshot: snapshot, overview: overview, span: span / .seconds(1),
            gaps: snapshot.sync.openGaps > 0 ? engine.report.openGaps() : [],
            limits: limits(snapshot, overview), point: desk.hour.points.last,
            notices: log.notices.latest, name: { [engine] in engine.publicName(of: $0) })
    }

    private func limits(_ snapshot: Snapshot, _ overview: Overview) -> [OperatorReport.Limit] {
        let limits = configuration.limits
        var rows = [
            OperatorReport.Limit(
                name: "Connections", key: "limits.connections", used: Double(snapshot.sessions),
                limit: Double(limits.connections),
                remedy: "Add a gateway, or raise it with LimitNOFILE."),
            OperatorReport.Limit(
                name: "Descriptors", key: "LimitNOFILE", used: Double(snapshot.descriptors),
                limit: Double(snapshot.descriptorLimit), remedy: "Raise LimitNOFILE (ulimit -n)."),
            OperatorReport.Limit(
                name: "HTTP requests at once", key: "limits.http_connections",
                used: Double(server.requestsUnderWay), limit: Double(limits.httpConnections),
                remedy: "Look at who calls the server API so often, and whether the origin is slow."
            ),
            OperatorReport.Limit(
                name: "Bytes that wait for the slowest reader", key: "limits.outbox_hard",
                used: Double(overview.slowest.first?.waiting ?? 0),
                limit: Double(limits.outboxHard),
                remedy: "Nothing: it is told a gap, and is closed at the limit."),
            OperatorReport.Limit(
                name: "Streams of this page", key: "", used: Double(desk.watchers.count),
                limit: Double(OperatorDesk.streams), remedy: "Close pages that nobody looks at."),
        ]
        if let queue = snapshot.faults.notificationQueue {
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
