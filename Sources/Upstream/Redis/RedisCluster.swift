import Dispatch
import Synchronization
import Wire

/// A Redis cluster as one upstream: a shard for each master; each command and topic goes to the
/// shard that owns its slot. The shards' generations come from one counter, so a number identifies
/// the shard too: a broken link, or a slot that moves away, ends the generation of one shard only.
/// Commands may be sent from any thread; placement is decided on `queue`.
///
/// While a slot migrates, the receiving node's events reach nobody: the subscribers are still at
/// the other node. So commands that publish wait until the slot has moved. It costs three threads
/// for each master, acceptable up to some sixty masters.
final class RedisCluster: RedisServers {
    typealias Address = RedisOptions.Address

    /// The present map and shards, for all threads.
    struct Servers: Sendable {
        var map = ClusterMap()
        var shards: [Address: RedisShard] = [:]

        func owner(of slot: Int) -> RedisShard? { map.owner(of: slot).flatMap { shards[$0] } }
    }

    let options: RedisOptions
    let queue = DispatchQueue(label: "gapless.redis.cluster")
    let topology: ClusterTopology
    /// The number of calls that wait for a retry.
    let waiting = Atomic<Int>(0)
    private let keys: RedisKeys
    private let troubles: Troubles
    private let watch: DisconnectWatch
    private let generations = Generations()
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let state: StateReport
    private let servers = Mutex(Servers())
    /// The wanted topics, and the node where each is subscribed; changes on `queue` only.
    private let places = Mutex<[RedisTopic: Address?]>([:])

    init(
        _ options: RedisOptions, _ troubles: Troubles, _ watch: DisconnectWatch,
        notice: @escaping @Sendable (UpstreamNotice) -> Void,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void
    ) {
        self.options = options
        self.troubles = troubles
        self.watch = watch
        self.notice = notice
        self.deliver = deliver
        state = StateReport(deliver: deliver)
        topology = ClusterTopology(options, notice: notice)
        keys = RedisKeys(options)
    }

    func start() {
        report()
        topology.start { [weak self] in self?.queue.async { [weak self] in self?.follow() } }
    }

    func stop() {
        topology.stop()
        // After this nothing on the queue can make a shard.
        queue.sync {}
        for shard in servers.withLock({ $0.shards.values }) { shard.stop() }
    }

    func snapshot() -> Servers { servers.withLock { $0 } }

    // MARK: commands

    func send(_ commands: [RedisCommand], then: @escaping CommandLink.Completion) {
        RedisScatter(commands, self, then: then).begin()
    }

    func together(_ body: () -> Void) {
        let shards = snapshot().shards.values
        for shard in shards { shard.hold() }
        body()
        for shard in shards { shard.release() }
    }

    // MARK: topics

    func want(_ topic: RedisTopic, _ isWanted: Bool) {
        queue.async { self.place(topic, isWanted) }
    }

    private func slot(of topic: RedisTopic) -> Int { HashSlot.of(keys.channel(of: topic)) }

    private func place(_ topic: RedisTopic, _ isWanted: Bool) {
        let servers = snapshot()
        guard isWanted else {
            if let place = places.withLock({ $0.removeValue(forKey: topic) }), let place {
                servers.shards[place]?.want(topic, false)
            }
            return
        }
        let place = servers.map.owner(of: slot(of: topic))
        places.withLock { $0[topic] = .some(place) }
        if let place { servers.shards[place]?.want(topic, true) }
    }

    /// Applies a new map: each master gets its links, and topics that moved are subscribed at their
    /// new node.
    private func follow() {
        let map = topology.map
        var shards = snapshot().shards
        for address in map.masters where shards[address] == nil {
            let shard = shard(at: address)
            shards[address] = shard
            shard.start()
        }
        let retired = shards.filter { !map.masters.contains($0.key) }
        for address in retired.keys { shards[address] = nil }
        servers.withLock { [shards] in $0 = Servers(map: map, shards: shards) }
        for (topic, before) in places.withLock({ $0 }) {
            let place = map.owner(of: slot(of: topic))
            guard place != before else { continue }
            places.withLock { $0[topic] = .some(place) }
            if let before { shards[before]?.release(topic) }
            if let place { shards[place]?.want(topic, true) }
        }
        for shard in retired.values { shard.retire() }
        report()
    }

    private func shard(at address: Address) -> RedisShard {
        RedisShard(
            options, master: ClusterNode(address, topology),
            links: LinkPair(generations, troubles, label: "\(address)"), watch,
            FeedLink.Listener(
                notice: notice, deliver: deliver, report: { [weak self] in self?.report() },
                strayed: { [topology] in topology.refresh() }))
    }

    // MARK: what is

    private func report() { state.report { isOnline && watch.isCurrent() } }

    func generation(of topic: RedisTopic) -> Int {
        let shard = snapshot().owner(of: slot(of: topic))
        return shard?.links.generation ?? 0
    }

    var isOnline: Bool {
        let servers = snapshot()
        return servers.map.isWhole
            && servers.shards.allSatisfy { address, shard in
                shard.isOnline || servers.map.lastSlot(of: address) == nil
            }
    }

    var heardAt: ContinuousClock.Instant? { snapshot().shards.values.compactMap(\.heardAt).min() }

    func look() { for shard in snapshot().shards.values { shard.look() } }

    var layout: RedisLayout {
        let servers = snapshot()
        var layout = RedisLayout(map: servers.map)
        for address in servers.map.masters where servers.map.lastSlot(of: address) != nil {
            let shard = servers.shards[address]?.layout ?? RedisLayout(generations: [0])
            layout.anchors += shard.anchors
            layout.generations += shard.generations
        }
        if !servers.map.isWhole { layout.generations.append(0) }
        return layout
    }

    var trouble: UpstreamNotice? {
        snapshot().map.isWhole ? nil : topology.trouble
    }
}
