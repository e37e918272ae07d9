import Engine
import Ports
import Upstream
import WebSockets
import Wire

/// Takes outputs of the upstream.
extension Driver {
    /// Takes outputs of the upstream, on the loop; `since` is when the upstream delivered them.
    func deliver(_ outputs: [UpstreamOutput], since: ContinuousClock.Instant) {
        let now = now()
        var changes = 0
        for output in outputs {
            switch output {
            case .feed(let event):
                board.lastEvent = now
                changes += 1
                engine.feed(CollectionOfOne(event), at: now)
            case .part(let events):
                board.lastEvent = now
                changes += events.count
                engine.feed(events, at: now)
            case .performed(let token, let result):
                instruments.measurements.performed(token)
                if let call = calls.finish(token) {
                    engine.noteSent(token: token, result)
                    http.performed(call, result)
                } else {
                    engine.performed(token, result, at: now)
                }
            case .answered(let token, let generation, let result):
                instruments.measurements.answered(token, result)
                if let call = calls.finish(token) {
                    http.answered(call, result)
                } else {
                    engine.fetched(token, generation: generation, result, at: now)
                }
            case .subscribed(let conversation, let generation):
                engine.subscribed(conversation, generation: generation, at: now)
            case .subscribedList(let user):
                engine.subscribedList(of: user, at: now)
            case .disconnect(let user, let mayComeBack):
                _ = engine.disconnect(user: user, mayComeBack: mayComeBack)
            case .presence(let token, let result):
                if let call = calls.finish(token) {
                    http.answered(call, result)
                } else {
                    engine.toldPresence(token, result, at: now)
                }
            case .presenceChanged(let users): engine.presenceChanged(of: users, at: now)
            case .presenceFollowed: engine.followsPresence(at: now)
            case .lapsed(let generation):
                instruments.log.say(.feedBroken, ["generation": "\(generation)"])
                engine.lapsed(generation: generation, at: now)
            case .damaged(let conversation, let part):
                engine.damaged(conversation, part, at: now)
            case .state(let state):
                instruments.log.say(.upstreamStateChanged, ["state": state.rawValue])
                engine.linked(state, at: now)
                board.lookAtFeed()
            }
        }
        instruments.measurements.arrived(changes, since: since)
    }
}
