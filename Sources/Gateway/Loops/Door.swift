import Configuration
import Crypto
import Engine
import Ports
import Rules
import WebSockets
import Wire

/// Admission of connections and requests, before the engine knows of them. A value, so that each
/// loop has its own; it is made anew when a reload or a drain changes it.
struct Door: Sendable {
    private let origins: OriginRule
    private let apiKeys: APIKeys?
    private let messageLimit: Int
    private let log: Logger
    /// While the gateway drains: when new connections may come again.
    var reopensAt: ContinuousClock.Instant?

    init(_ configuration: Configuration, _ credentials: Credentials, _ log: Logger) {
        self.log = log
        origins = OriginRule(configuration)
        apiKeys = credentials.apiKeys
        messageLimit = configuration.limits.log.message
    }

    func decide(_ request: UpgradeRequest) -> UpgradeDecision {
        decide(
            request,
            drainedIn: reopensAt.map { end in
                max(0, Int64(ContinuousClock.now.duration(to: end) / .milliseconds(1)))
            })
    }

    /// - Parameter wait: while draining, milliseconds until a gateway may be reached again.
    func decide(_ request: UpgradeRequest, drainedIn wait: Int64?) -> UpgradeDecision {
        guard request.listener == "public", request.path == "/v1/ws" else {
            return .refuse(.error(RequestError(.pathNotFound, "path: not found")))
        }
        if let wait {
            let seconds = max(1, (wait + 999) / 1000)
            var response = HTTPResponse.error(
                RequestError(.draining, "the gateway drains"))
            response.headers.append(.init("Retry-After", String(seconds)))
            return .refuse(response)
        }
        guard let problem = origins.problem(request.headers) else { return .accept }
        // Logged, since the page can't see it: a browser shows a failed connection without a
        // reason.
        log.say(
            .webSocketRefused,
            [
                "reason": problem, "origin": Self.shown(request.headers["origin"]),
                "host": Self.shown(request.headers["host"]), "address": request.remoteAddress,
            ])
        return .refuse(.error(RequestError(.webOriginRefused, problem)))
    }

    /// A header of an unknown client, cut to fit a log line. A character may have any number of
    /// marks, so scalars are counted.
    private static func shown(_ value: String?) -> String {
        String(String.UnicodeScalarView((value ?? "").unicodeScalars.prefix(100)))
    }

    /// Whether the request has a key of the server API.
    func mayUseAPI(_ headers: HTTPHeaders) -> Bool {
        guard let apiKeys, let key = key(in: headers) else { return false }
        return apiKeys.contains(Array(key.utf8))
    }

    private func key(in headers: HTTPHeaders) -> String? {
        Bearer.header(headers["authorization"]) ?? headers["x-api-key"]
    }

    /// A body is read only with a key, up to the route's limit.
    func admit(_ request: RequestHead) -> Admission {
        log.say(
            .requestReceived,
            [
                "listener": request.listener, "method": request.method.rawValue,
                "path": request.path, "address": request.remoteAddress,
            ])
        guard request.listener == "public" else {
            let reads = request.method == .get || request.method == .head
            guard reads || !request.hasBody else {
                return .refuse(.methodNotAllowed(["GET", "HEAD"]))
            }
            return .accept(bodyLimit: 0, isFree: false)
        }
        guard mayUseAPI(request.headers) else {
            if key(in: request.headers) != nil {
                log.say(.apiKeyRefused, ["address": request.remoteAddress])
            }
            guard !request.hasBody else { return .refuse(.keyNeeded) }
            return .accept(bodyLimit: 0, isFree: true)
        }
        let limit = APIRoute(path: request.path)?.bodyLimit(message: messageLimit)
        return .accept(bodyLimit: limit ?? APIRoute.smallBody, isFree: false)
    }
}
