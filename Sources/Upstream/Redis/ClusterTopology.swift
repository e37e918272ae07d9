import Ports
import Synchronization

/// Asks the nodes of a cluster, each on a thread of its own, who the masters are: first the
/// configured node, then every master that was learned. `ClusterMap` counts the answers; a master
/// counts while a majority has named it lately.
final class ClusterTopology: Sendable {
    typealias Address = RedisOptions.Address

    private struct State {
        var votes: [Address: ClusterMap.Vote] = [:]
        var pollers: [Address: Poller] = [:]
        var map = ClusterMap()
        var leases: [Address: ContinuousClock.Instant] = [:]
        /// Called when the map has changed.
        var changed: (@Sendable () -> Void)?
        var isStopped = false
    }

    private let options: RedisOptions
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let state = Mutex(State())

    init(_ options: RedisOptions, notice: @escaping @Sendable (UpstreamNotice) -> Void) {
        self.options = options
        self.notice = notice
    }

    /// - Parameter changed: called, on any thread, when the map has changed.
    func start(changed: @escaping @Sendable () -> Void) {
        let pollers = state.withLock { state in
            state.changed = changed
            return asked(&state)
        }
        poll(pollers)
    }

    func stop() {
        let pollers = state.withLock { state in
            state.isStopped = true
            return state.pollers.values
        }
        for poller in pollers { poller.end() }
        for poller in pollers { poller.wait() }
    }

    var map: ClusterMap { state.withLock { $0.map } }

    func counts(_ address: Address, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.leases[address].map { now < $0 } ?? false }
    }

    /// A node redirected a command, so the map may be outdated: asks all nodes now.
    func refresh() {
        for poller in state.withLock({ Array($0.pollers.values) }) { poller.hurry() }
    }

    /// Why the map is not whole: the trouble of the configured node, or of one that it named; nil
    /// while a node that may complete the map has not been asked yet.
    var trouble: UpstreamNotice? {
        let pollers = state.withLock { $0.pollers }
        let others = pollers.values.sorted {
            ($0.address.host, $0.address.port) < ($1.address.host, $1.address.port)
        }
        let trouble = pollers[options.address]?.trouble ?? others.lazy.compactMap(\.trouble).first
        guard trouble == nil, others.allSatisfy(\.hasAsked) else { return trouble }
        return UpstreamNotice(
            .originClusterDown,
            "use the cluster: slots that nobody owns (more than half of the masters must agree)")
    }

    // MARK: on the threads of the pollers

    private func take(
        _ view: ClusterView, from address: Address, _ askedAt: ContinuousClock.Instant
    ) {
        let (changed, pollers) = state.withLock { state in
            guard !state.isStopped else { return (nil as (@Sendable () -> Void)?, Change()) }
            state.votes[address] = ClusterMap.Vote(view: view, askedAt: askedAt)
            let now = ContinuousClock.now
            state.votes = state.votes.filter { now < $0.value.askedAt + options.deadline }
            let (map, leases) = ClusterMap.counted(state.votes, lease: options.deadline)
            state.leases = leases
            defer { state.map = map }
            return (map != state.map ? state.changed : nil, asked(&state))
        }
        poll(pollers)
        changed?()
    }

    /// Pollers to start and to end.
    private struct Change {
        var beginning: [Poller] = []
        var ending: [Poller] = []
    }

    /// Polls all masters that were named, and the configured node.
    private func asked(_ state: inout State) -> Change {
        let named = state.votes.values.reduce(into: [options.address] as Set) {
            $0.formUnion($1.view.masters.keys)
        }
        let change = Change(
            beginning: named.filter { state.pollers[$0] == nil }.map(poller(of:)),
            // An answer in flight is its last; nobody waits for it.
            ending: state.pollers.filter { !named.contains($0.key) }.map(\.value))
        for poller in change.beginning { state.pollers[poller.address] = poller }
        for poller in change.ending { state.pollers[poller.address] = nil }
        return change
    }

    private func poll(_ change: Change) {
        for poller in change.ending { poller.end() }
        for poller in change.beginning { poller.start() }
    }

    private func poller(of address: Address) -> Poller {
        Poller(address, options, notice: notice) {
            [weak self, options] connection, askedAt throws(RedisError) in
            let view = try Self.ask(connection, options, askedAt)
            self?.take(view, from: address, askedAt)
        }
    }

    private static func ask(
        _ connection: RedisConnection, _ options: RedisOptions, _ askedAt: ContinuousClock.Instant
    ) throws(RedisError) -> ClusterView {
        let commands = [try options.login.command(), .words("CLUSTER", "NODES")].compactMap { $0 }
        let replies = try connection.exchange(commands, until: askedAt + options.deadline)
        if replies.last?.errorCode == "ERR" {
            throw RedisError(
                .refused, doing: "use", on: "\(connection.address)", seen: "no node of a cluster",
                detail: "upstream.redis.cluster")
        }
        for reply in replies { try RedisSession.check(reply, connection.address) }
        guard let text = replies.last?.string,
            let view = ClusterView(text, from: connection.address)
        else {
            throw RedisError(
                .malformed, doing: "ask", on: "\(connection.address)",
                seen: "not the nodes of a cluster", detail: "CLUSTER NODES")
        }
        return view
    }
}

/// The master source of a shard: one node's address, while that node counts as master.
final class ClusterNode: MasterSource {
    private let address: RedisOptions.Address
    private let topology: ClusterTopology
    /// The node's last slot, and the name of a key in it.
    private let named = Mutex<(slot: Int, name: String)?>(nil)

    init(_ address: RedisOptions.Address, _ topology: ClusterTopology) {
        self.address = address
        self.topology = topology
    }

    func master(at now: ContinuousClock.Instant) -> RedisOptions.Address? {
        topology.counts(address, at: now) ? address : nil
    }

    /// The name of a key in a slot that the node owns.
    func origin() -> String {
        guard let slot = topology.map.lastSlot(of: address) else { return "origin" }
        return named.withLock { named in
            if let named, named.slot == slot { return named.name }
            let name = "origin:{\(HashSlot.tag(for: slot))}"
            named = (slot, name)
            return name
        }
    }

    func start() {}
    func stop() {}
}
