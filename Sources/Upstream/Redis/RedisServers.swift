import Wire

/// The servers behind the upstream: one, or the nodes of a cluster.
protocol RedisServers: AnyObject, Sendable {
    func start()
    /// Returns when nothing more will be delivered.
    func stop()
    /// Sends commands; from any thread, without waiting. `then` gets one reply for each.
    func send(_ commands: [RedisCommand], then: @escaping CommandLink.Completion)
    /// What `body` sends goes to each server together.
    func together(_ body: () -> Void)
    func want(_ topic: RedisTopic, _ isWanted: Bool)
    /// The present generation of the topic's feed; 0 for none.
    func generation(of topic: RedisTopic) -> Int
    /// Whether all servers can be asked, and all feeds are live.
    var isOnline: Bool { get }
    /// When the feed last sent bytes; of several feeds, the one that is longest silent.
    var heardAt: ContinuousClock.Instant? { get }
    /// Wakes the links' threads to look at a changed state.
    func look()
    /// A problem beyond those of the links.
    var trouble: UpstreamNotice? { get }
    /// The servers, and what lies where.
    var layout: RedisLayout { get }
}

/// The servers and their slots, to ask each for all that it has, and to see whether anything moved
/// meanwhile.
struct RedisLayout: Sendable, Hashable {
    /// For each server the name, without the prefix, of a key that lies there.
    var anchors: [String] = []
    /// The generations of their feeds; 0 for none.
    var generations: [Int] = []
    var map = ClusterMap()

    /// Whether all servers can be asked.
    var isWhole: Bool { !anchors.isEmpty && !generations.contains(0) }
}
