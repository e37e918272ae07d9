import Cache
import Chat
import Configuration
import Crypto
import Engine
import JSON
import Ports
import Rules
import Upstream
import WebSockets
import Wire

/// The HTTP side: health and metrics inside, the server API and the page outside. Lives on the
/// loop.
final class HTTPDesk {
    /// The files of the page; nil if there is none.
    let page: PageFiles?
    /// The operator's page and its event stream.
    let operators: OperatorPage
    let engine: Engine
    let calls: OriginCalls
    private let instruments: Instruments
    private let cache: CacheFile
    private let board: StatusBoard
    private let entrance: Entrance
    private let tracer: CallTracer
    /// Large bodies and answers; nil before the service begins.
    var bodies: BodyWorker?

    init(
        _ engine: Engine, _ calls: OriginCalls, _ cache: CacheFile, _ board: StatusBoard,
        _ operators: OperatorPage, _ entrance: Entrance, _ instruments: Instruments
    ) {
        self.engine = engine
        self.calls = calls
        self.cache = cache
        self.board = board
        self.operators = operators
        self.entrance = entrance
        self.instruments = instruments
        tracer = CallTracer(log: instruments.log)
        page = entrance.configuration.page.enabled ? PageFiles.installed() : nil
    }

    var now: Timestamp { instruments.clock.now() }

    func answer(_ request: HTTPRequest, _ responder: HTTPResponder) {
        switch request.listener {
        case "internal": answerInternal(request, responder)
        default: answerPublic(request, responder)
        }
    }

    // MARK: - Inside

    private func answerInternal(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard request.method == .get || request.method == .head else {
            return responder.respond(.methodNotAllowed(["GET", "HEAD"]))
        }
        if let refusal = entrance.internalRule.refusal(request.path, request.headers) {
            return responder.respond(refusal)
        }
        switch request.path {
        case "/health", "/healthz":
            responder.respond(.json(200, Health.summary(board.snapshot())))
        case "/health/live", "/livez":
            responder.respond(.json(200, Health.probe(true, board.snapshot())))
        case "/health/ready", "/readyz":
            let snapshot = board.snapshot()
            responder.respond(
                .json(snapshot.isReady ? 200 : 503, Health.probe(snapshot.isReady, snapshot)))
        case "/books":
            let report = engine.report
            responder.respond(
                .json(
                    200,
                    AccountingReport.json(
                        report.totals().accounting, report.conversationAccounting())))
        case "/explain":
            do throws(ServerAPI.Failure) {
                try explain(QueryString(request.query ?? ""), responder)
            } catch {
                if case .error(let error) = error { responder.respond(.error(error)) }
            }
        case "/metrics":
            responder.respond(
                HTTPResponse(
                    status: 200,
                    headers: [
                        .init("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                        .init("Cache-Control", "no-store"),
                    ],
                    body: Metrics.text(
                        board.snapshot(), instruments.measurements,
                        GapTable(engine.report.openGaps(), at: now))))
        case "/events":
            operators.answerEvents(responder)
        case _ where InternalRule.isPage(request.path):
            operators.answer(request.path, responder)
        default:
            responder.respond(.error(RequestError(.pathNotFound, "path: not found")))
        }
    }

    // MARK: - Outside

    private func answerPublic(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard request.path.hasPrefix("/v1/") else { return answerPage(request, responder) }
        if request.path == "/v1/ws" {
            var response = HTTPResponse.error(
                RequestError(.upgradeNeeded, "this path speaks WebSocket: an upgrade is needed"))
            response.status = request.method == .get ? 426 : 405
            response.headers.append(
                .init(
                    request.method == .get ? "Upgrade" : "Allow",
                    request.method == .get ? "websocket" : "GET"))
            return responder.respond(response)
        }
        guard entrance.door.mayUseAPI(request.headers) else { return responder.respond(.keyNeeded) }
        let limits = entrance.configuration.limits
        let api = ServerAPI(limits: limits.log, presentUsers: limits.presentUsers)
        if request.body.count > BodyWorker.large, let bodies {
            bodies.decode(request, responder, api)
        } else {
            decoded(BodyWorker.Decoded(request, responder, api))
        }
    }

    /// Performs a request of the server API, or refuses it.
    func decoded(_ decoded: BodyWorker.Decoded) {
        let traced = TracedRequest(decoded.request)
        switch decoded.call {
        case .success(let call): perform(call, traced, decoded.responder)
        case .failure(.error(let error)):
            tracer.note(traced, error)
            decoded.responder.respond(.error(error))
        case .failure(.method(let allowed)):
            decoded.responder.respond(.methodNotAllowed(allowed))
        }
    }

    private func perform(
        _ call: ServerAPI.Call, _ traced: TracedRequest?, _ responder: HTTPResponder
    ) {
        switch call {
        case .ask(let query, let atLeast?):
            guard let conversation = query.conversation else { return }
            calls.ask(
                .changes(
                    conversation: conversation, since: atLeast.rev, mark: atLeast.mark, limit: 1),
                for: WaitingCall(
                    responder: responder, kind: .provided(atLeast, query), traced: traced))
        case .ask(let query, nil):
            calls.ask(
                query, for: WaitingCall(responder: responder, kind: .answer(query), traced: traced))
        case .perform(let operation, let shape):
            let token = calls.wait(
                WaitingCall(responder: responder, kind: .write(shape), traced: traced))
            engine.noteSend(operation, token: token, trace: traced?.trace ?? "")
            calls.append(.perform(operation, by: .server, token: token))
        case .boundaries(let conversation):
            answerBoundaries(of: conversation, responder)
        case .gaps:
            responder.respond(.json(200, OpenGaps.json(engine.report.openGaps())))
        case .presence(let users): askPresence(of: users, traced, responder)
        case .presences(let conversation):
            let request = ParticipantsRequest(limit: limits.presentUsers, order: .asc)
            calls.ask(
                .participants(conversation: conversation, request),
                for: WaitingCall(responder: responder, kind: .presences, traced: traced))
        case .disconnect(let user, let mayComeBack):
            guard calls.upstream.reachesOthers else {
                return disconnect(user, mayComeBack: mayComeBack, responder)
            }
            let kind = WaitingCall.Kind.disconnect(user: user, mayComeBack: mayComeBack)
            let token = calls.wait(
                WaitingCall(responder: responder, kind: kind, traced: traced))
            calls.append(.disconnect(user: user, mayComeBack: mayComeBack, token: token))
        }
    }

    private var limits: Limits { entrance.configuration.limits }

    /// Asks the origin who is there.
    private func askPresence(
        of users: [String], _ traced: TracedRequest?, _ responder: HTTPResponder
    ) {
        let presence = entrance.configuration.presence
        let token = calls.wait(
            WaitingCall(
                responder: responder, kind: .presence(users, presence.rule), traced: traced))
        calls.append(
            .presence(
                PresenceCall(
                    reads: users, lease: presence.lease, grace: presence.grace,
                    retain: presence.retain), token: token))
    }

    /// The coverage that the cache has of a conversation: all of it if the cache is the origin.
    private func answerBoundaries(of conversation: String, _ responder: HTTPResponder) {
        do {
            guard
                case .loaded(let loaded) = try cache.reader.answer(
                    .load(conversation: conversation))
            else { throw RequestError.misled }
            let all = loaded.head.places
            let held = loaded.cached.map { $0.standing.intersection(all) } ?? all
            let ends = held.runs.flatMap { [$0.low, $0.high] }
            guard
                case .ids(let ids) = try cache.reader.answer(
                    .ids(conversation: conversation, places: ends))
            else { throw RequestError.misled }
            responder.respond(
                .json(200, BoundariesReport.json(loaded.head, held: held, ids: ids, at: now)))
        } catch let error as RequestError where cache.replica != nil && error == .noConversation {
            // The cache does not know the conversation: ask the origin whether it exists.
            calls.ask(
                .heads([conversation]),
                for: WaitingCall(responder: responder, kind: .boundaries(conversation)))
        } catch let error as RequestError {
            responder.respond(.error(error))
        } catch {
            cache.note(error)
            responder.respond(.error(.cacheUnreadable))
        }
    }

    // MARK: - Results

    /// Answers a write of the server API.
    func performed(_ call: WaitingCall, _ result: Result<Outcome, RequestError>) {
        tracer.note(call.traced, result)
        if case (.write(let shape), .success(let outcome)) = (call.kind, result), let bodies,
            WaitingCall.bytes(of: outcome) > BodyWorker.large
        {
            return bodies.respond(call.responder) { WaitingCall.response(outcome, shape) }
        }
        guard case .disconnect(let user, let mayComeBack) = call.kind, case .success = result else {
            return call.performed(result)
        }
        // The other gateways know by now; had that failed, nothing would be done here either.
        disconnect(user, mayComeBack: mayComeBack, call.responder)
    }

    /// Answers a read of the server API.
    func answered(_ call: WaitingCall, _ result: Result<HistoryAnswer, RequestError>) {
        var result = result
        if case .provided(let atLeast, let query) = call.kind {
            switch result {
            case .success(.changes(let changes)) where changes.head.epoch == atLeast.epoch:
                return perform(.ask(query), call.traced, call.responder)
            case .failure(let error) where error.code != .conflict: break
            case .success, .failure: result = .failure(Self.noChange)
            }
        }
        if case .presences = call.kind, case .success(.participants(let list)) = result {
            if list.total <= limits.presentUsers {
                return askPresence(of: list.users, call.traced, call.responder)
            }
            result = .failure(
                RequestError(
                    .limitPresence,
                    "path: the conversation has \(list.total) participants (accepted: at most"
                        + " \(limits.presentUsers), limits.presence)"))
        }
        if case .failure(let error) = result { tracer.note(call.traced, error) }
        if case .explain(let request) = call.kind {
            explain(request, result, call.responder)
        } else {
            call.answered(result, at: now)
        }
    }

    /// Answers who is there.
    func answered(_ call: WaitingCall, _ result: Result<PresenceReading, RequestError>) {
        if case .failure(let error) = result { tracer.note(call.traced, error) }
        call.answered(result)
    }

    private static let noChange = RequestError(
        .changeUnknown, "atLeast: this log has no such change")

    /// Logs the traced requests of clients.
    func noteTracedCalls() {
        for call in engine.takeTracedCalls() { tracer.note(call) }
    }

    /// Closes the user's connections to this gateway.
    private func disconnect(_ user: String, mayComeBack: Bool, _ responder: HTTPResponder) {
        let count = engine.disconnect(user: user, mayComeBack: mayComeBack)
        responder.respond(.json(200, Array("{\"disconnected\":\(count)}".utf8)))
    }

    // MARK: - The page

    private func answerPage(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let demo = entrance.configuration.demo
        let isDemo = request.path == "/demo" || request.path.hasPrefix("/demo/")
        if demo.enabled, request.path == "/demo/supervisor" {
            return responder.respond(.json(200, supervisorJSON(demo.supervisor)))
        }
        let path = request.path == "/demo" ? "/demo/index.html" : request.path
        // The internal listener alone serves the operator's page.
        let isInside = request.path.hasPrefix("/operator/")
        guard let file = page?[path], demo.enabled || !isDemo, !isInside else {
            return responder.respond(.error(RequestError(.pathNotFound, "path: not found")))
        }
        guard request.method == .get || request.method == .head else {
            return responder.respond(.methodNotAllowed(["GET", "HEAD"]))
        }
        let isPacked = file.packed != nil && acceptsGzip(request.headers["accept-encoding"])
        let tag = isPacked ? file.packedTag : file.tag
        var response = HTTPResponse(
            status: 200,
            headers: [
                .init("Content-Type", file.contentType), .init("ETag", tag),
                // Files named after their content never change. All others are revalidated each
                // time and sent only if they changed, so that a new release shows at once.
                .init(
                    "Cache-Control",
                    path.hasPrefix("/assets/")
                        ? "public, max-age=31536000, immutable" : "no-cache"),
                .init("X-Content-Type-Options", "nosniff"),
                .init("X-Frame-Options", "DENY"), .init("Referrer-Policy", "no-referrer"),
                // The page's own policy, and `frame-ancestors`, which only a header can set.
                .init(
                    "Content-Security-Policy",
                    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                        + "connect-src 'self'\(isDemo ? demo.sources : ""); "
                        + "base-uri 'none'; form-action 'none'; "
                        + "require-trusted-types-for 'script'; trusted-types gapless-worker; "
                        + "frame-ancestors 'none'"),
            ], body: isPacked ? file.packed ?? [] : file.bytes)
        if file.packed != nil { response.headers.append(.init("Vary", "Accept-Encoding")) }
        if isPacked { response.headers.append(.init("Content-Encoding", "gzip")) }
        if request.headers["if-none-match"] == tag {
            response.status = 304
            response.body = []
        }
        responder.respond(response)
    }

    /// Whether a request accepts gzip: named, and not with `q=0`.
    private func acceptsGzip(_ header: String?) -> Bool {
        (header ?? "").lowercased().split(separator: ",").contains { word in
            let parts = word.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first == "gzip" && (parts.count == 1 || Double(parts[1].dropFirst(2)) != 0)
        }
    }

    /// The address of the demonstration's supervisor, for its page.
    private func supervisorJSON(_ address: Address?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("address")
        if let address { json.string("\(address)") } else { json.null() }
        json.endObject()
        return json.bytes
    }
}

extension Configuration.Demo {
    /// The sources that the policy of the demonstration's page allows beside its own gateway.
    fileprivate var sources: String {
        supervisor.map { " http://\($0) ws://\($0)" } ?? ""
    }
}

extension HTTPResponse {
    static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [
                .init("Content-Type", "application/json"), .init("Cache-Control", "no-store"),
                .init("X-Content-Type-Options", "nosniff"),
            ], body: body)
    }

    /// The error as `protocol.md` 7 writes it.
    static func error(_ error: RequestError) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("error", error: error)
        json.endObject()
        var response = HTTPResponse.json(error.code.status, json.bytes)
        if let after = error.after {
            response.headers.append(.init("Retry-After", String(max(1, (after + 999) / 1000))))
        }
        return response
    }

    /// The answer to a request without a key of the server API.
    static var keyNeeded: HTTPResponse {
        var response = HTTPResponse.error(
            RequestError(
                .keyNeeded, "Authorization: Bearer and an API key, or X-API-Key, is needed"))
        response.headers.append(.init("WWW-Authenticate", "Bearer"))
        return response
    }

    static func methodNotAllowed(_ allowed: [String]) -> HTTPResponse {
        var response = HTTPResponse.error(
            RequestError(
                .httpMethodNotAllowed, "method: only \(allowed.joined(separator: ", ")) here"))
        response.status = 405
        response.headers.append(.init("Allow", allowed.joined(separator: ", ")))
        return response
    }
}
