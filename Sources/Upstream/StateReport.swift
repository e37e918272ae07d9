import Dispatch
import Ports
import Synchronization
import Wire

/// Delivers the upstream's state when it changes.
final class StateReport: Sendable {
    // Two threads may see two states; the queue makes the last one delivered the last one seen.
    // Nothing on it blocks.
    private let queue = DispatchQueue(label: "gapless.upstream.state")
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let reported = Mutex<UpstreamState?>(nil)

    init(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void) { self.deliver = deliver }

    func report(_ isOnline: () -> Bool) {
        queue.sync {
            let state: UpstreamState = isOnline() ? .online : .offline
            let before = reported.withLock { reported in
                defer { reported = state }
                return reported
            }
            guard state != before else { return }
            deliver([.state(state)])
        }
    }
}
