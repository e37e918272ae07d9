import Engine
import Ports
import WebSockets
import Wire

/// A request of the server API with a `traceparent`.
struct TracedRequest {
    /// The most bytes of a path that are logged.
    private static let pathLimit = 300

    let trace: String
    let method: String
    let path: String

    /// - Returns: nil if the header is missing, or invalid by W3C's rules: an invalid one is
    ///   ignored, so that tracing never makes a request fail.
    init?(_ request: HTTPRequest) {
        guard let trace = request.headers["traceparent"].flatMap(TraceParent.read) else {
            return nil
        }
        self.trace = trace
        method = request.method.rawValue
        path = String(decoding: request.path.utf8.prefix(Self.pathLimit), as: UTF8.self)
    }
}

/// Log lines that connect a caller's traces to what the gateway did. Requests without a
/// `traceparent` have none.
struct CallTracer {
    let log: Logger

    /// Logs a traced request of a client.
    func note(_ call: TracedCall) {
        note(
            call.error, call.trace, "\(call.method.rawValue)",
            ("conversation", call.conversation ?? ""), ("user", call.user))
    }

    /// Logs that a request of the server API was refused, or failed.
    func note(_ request: TracedRequest?, _ error: RequestError) {
        guard let request else { return }
        note(error, request.trace, request.method, ("path", request.path), ("by", "server API"))
    }

    /// Logs the end of a write of the server API.
    func note(_ request: TracedRequest?, _ result: Result<Outcome, RequestError>) {
        guard let request else { return }
        var error: RequestError?
        if case .failure(let reason) = result { error = reason }
        note(error, request.trace, request.method, ("path", request.path), ("by", "server API"))
    }

    private func note(
        _ error: RequestError?, _ trace: String, _ method: String, _ subject: (String, String),
        _ caller: (String, String)
    ) {
        guard let error else {
            return log.say(
                .tracedWriteDone,
                [
                    "traceparent": trace, "method": method, subject.0: subject.1,
                    caller.0: caller.1,
                ])
        }
        let fields: KeyValuePairs = [
            "traceparent": trace, "method": method, subject.0: subject.1, caller.0: caller.1,
            "code": error.code.rawValue, "reason": error.reason?.rawValue ?? "",
            "error": error.message,
        ]
        switch error.code {
        case .internal, .originUnavailable: log.say(.tracedRequestFailed, fields)
        case .badRequest, .unknownMethod, .unauthorized, .forbidden, .notFound, .conflict,
            .tooLarge, .rateLimited:
            log.say(.tracedRequestRefused, fields)
        }
    }
}
