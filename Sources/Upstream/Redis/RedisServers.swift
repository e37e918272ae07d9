import Dispatch
import Synchronization
import Wire

/// Where commands and topics go: one server, or the nodes of a cluster.
protocol RedisServers: AnyObject, Sendable {
    func start()
    /// Returns when nothing more will be delivered.
    func stop()
    /// Sends commands; from any thread, without waiting. `then` gets one reply for each.
    func send(_ commands: [RedisCommand], then: @escaping CommandLink.Completion)
    func want(_ topic: RedisTopic, _ isWanted: Bool)
    /// The generation under way of the feed that tells of the topic, 0 for none.
    func generation(of topic: RedisTopic) -> Int
    /// Whether all can be asked, and tell.
    var isOnline: Bool { get }
    /// When bytes last came from the feed; of several feeds, from the one that is longest silent.
    var heardAt: ContinuousClock.Instant? { get }
    /// Something about the state has changed, which the links' threads are to look at.
    func look()
    /// What is wrong beyond what the links say.
    var trouble: String? { get }
    /// Where everything is.
    var layout: RedisLayout { get }
}

/// Which servers there are and what lies where, so that one can be asked for all that it has, and
/// whether it was the same all the time.
struct RedisLayout: Sendable, Hashable {
    /// For each server the name, without the prefix, of a key that lies there.
    var anchors: [String] = []
    /// The feeds under way from them, 0 for none.
    var generations: [Int] = []
    var map = ClusterMap()

    /// Whether all of it can be asked.
    var isWhole: Bool { !anchors.isEmpty && !generations.contains(0) }
}

/// Tells what state the upstream is in, when it is another one.
final class StateReport: Sendable {
    // Two threads may see two states; on the queue, the one that is told last is the one that was
    // seen last. Nothing is called on it that waits.
    private let queue = DispatchQueue(label: "gapless.redis.state")
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
