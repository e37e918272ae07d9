import Dispatch
import Rules
import WebSockets

/// Large bodies of the server API: decoded, and large answers put together, one after the other on
/// a thread of its own. A thousand messages of 32 KB take a tenth of a second, for which no client
/// should wait.
///
/// Owned by the HTTP side and used on the loop.
final class BodyWorker: Sendable {
    /// A request whose body was decoded.
    struct Decoded: Sendable {
        let request: HTTPRequest
        let responder: HTTPResponder
        let call: Result<ServerAPI.Call, ServerAPI.Failure>

        init(_ request: HTTPRequest, _ responder: HTTPResponder, _ api: ServerAPI) {
            self.responder = responder
            do throws(ServerAPI.Failure) {
                call = .success(
                    try api.call(
                        method: request.method.rawValue, path: request.path,
                        query: request.query ?? "", body: request.body))
            } catch {
                call = .failure(error)
            }
            var request = request
            // What it said is in the call.
            request.body = []
            self.request = request
        }
    }

    /// Smaller ones are done at once, in some 0.2 ms at most.
    static let large = 32 << 10

    private let queue = DispatchQueue(label: "gapless.bodies")
    private let loop: ServiceLoop
    private let take: @Sendable (Decoded) -> Void

    /// - Parameter take: called on the loop with each request.
    init(_ loop: ServiceLoop, take: @escaping @Sendable (Decoded) -> Void) {
        self.loop = loop
        self.take = take
    }

    func decode(_ request: HTTPRequest, _ responder: HTTPResponder, _ api: ServerAPI) {
        queue.async { [loop, take] in
            let decoded = Decoded(request, responder, api)
            loop.post { take(decoded) }
        }
    }

    /// Answers with what `make` puts together.
    func respond(_ responder: HTTPResponder, _ make: @escaping @Sendable () -> HTTPResponse) {
        queue.async { [loop] in
            let response = make()
            loop.post { responder.respond(response) }
        }
    }

    /// Returns when nothing is left under way. Meanwhile the caller asks nothing of it.
    func stop() { queue.sync {} }
}
