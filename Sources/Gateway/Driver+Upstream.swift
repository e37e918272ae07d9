import Engine
import Ports
import Upstream
import WebSockets
import Wire

/// Hands calls to the upstream and takes its outputs.
extension Driver {
    /// Hands over the calls that this turn has made so far.
    func handOver() {
        guard !calls.isEmpty else { return }
        upstream.submit(calls)
        calls.removeAll(keepingCapacity: true)
    }

    /// Takes outputs of the upstream, on the loop; `since` is when the upstream delivered them.
    func deliver(_ outputs: [UpstreamOutput], since: ContinuousClock.Instant) {
        let now = now()
        var changes = 0
        for output in outputs {
            switch output {
            case .feed(let event):
                lastEvent = now
                changes += 1
                engine.feed(CollectionOfOne(event), at: now)
            case .performed(let token, let result):
                measurements.performed(token)
                if let call = waiting.removeValue(forKey: token) {
                    engine.noteSent(token: token, result)
                    note(call.traced, result)
                    performed(call, result)
                } else {
                    engine.performed(token, result, at: now)
                }
            case .answered(let token, let generation, let result):
                measurements.answered(token, result)
                if let call = waiting.removeValue(forKey: token) {
                    if case .failure(let error) = result { note(call.traced, error) }
                    if case .explain(let request) = call.kind {
                        explain(request, result, call.responder)
                    } else {
                        call.answered(result, at: now)
                    }
                } else {
                    engine.fetched(token, generation: generation, result, at: now)
                }
            case .subscribed(let conversation, let generation):
                engine.subscribed(conversation, generation: generation, at: now)
            case .subscribedList(let user):
                engine.subscribedList(of: user, at: now)
            case .disconnect(let user, let mayComeBack):
                _ = engine.disconnect(user: user, mayComeBack: mayComeBack)
            case .lapsed(let generation):
                log.warning(
                    "feed of the upstream broke; what was missed is fetched when it is back",
                    ["generation": "\(generation)"])
                engine.lapsed(generation: generation, at: now)
            case .damaged(let conversation, let part):
                engine.damaged(conversation, part, at: now)
            case .state(let state):
                log.info("upstream state changed", ["state": state.rawValue])
                engine.linked(state, at: now)
                lookAtFeed()
            }
        }
        measurements.arrived(changes, since: since)
    }

    /// Answers a write of the server API.
    private func performed(_ call: WaitingCall, _ result: Result<Outcome, RequestError>) {
        guard case .disconnect(let user, let mayComeBack) = call.kind, case .success = result else {
            return call.performed(result)
        }
        // The other gateways know by now; had that failed, nothing would be done here either.
        disconnect(user, mayComeBack: mayComeBack, call.responder)
    }

    /// Closes the user's connections to this gateway.
    func disconnect(_ user: String, mayComeBack: Bool, _ responder: HTTPResponder) {
        let count = engine.disconnect(user: user, mayComeBack: mayComeBack)
        responder.respond(.json(200, Array("{\"disconnected\":\(count)}".utf8)))
    }
}
