import Engine
import Ports
import Upstream
import WebSockets
import Wire

/// Answers `/explain`: what became of a message.
extension HTTPDesk {
    /// Asks the origin first whether it has the message.
    func explain(_ query: QueryString, _ responder: HTTPResponder) {
        do throws(RequestError) {
            let request = try ExplainRequest(query)
            calls.ask(
                request.origin, for: WaitingCall(responder: responder, kind: .explain(request)))
        } catch {
            responder.respond(.error(error))
        }
    }

    func explain(
        _ request: ExplainRequest, _ result: Result<HistoryAnswer, RequestError>,
        _ responder: HTTPResponder
    ) {
        let explanation = engine.report.explain(request.asked(result), at: now)
        let report = ExplainReport(
            explanation: explanation, name: { [engine] in engine.publicName(of: $0) })
        responder.respond(report.response(isText: request.isText))
    }
}
