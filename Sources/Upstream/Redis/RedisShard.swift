/// One server and our two links to it: a whole Redis, or one node of a cluster with its slots. From
/// any thread.
final class RedisShard: RedisServers {
    let links: LinkPair
    private let commands: CommandLink
    private let feed: FeedLink
    private let master: any MasterSource

    /// - Parameters:
    ///   - listener: called on the links' threads.
    init(
        _ options: RedisOptions, master: any MasterSource, links: LinkPair,
        _ watch: DisconnectWatch, _ listener: FeedLink.Listener
    ) {
        self.links = links
        self.master = master
        let feed = FeedLink(
            options, master: master, links: links, watch, listener)
        self.feed = feed
        commands = CommandLink(
            options, master: master, links: links, notice: listener.notice,
            changed: { feed.look() })
    }

    func start() {
        master.start()
        commands.start()
        feed.start()
    }

    func stop() {
        commands.stop()
        feed.stop()
        master.stop()
    }

    /// Ends one shard of several, without waiting; delivers `lapsed`.
    func retire() {
        commands.end()
        feed.retire()
    }

    func send(_ commands: [RedisCommand], then: @escaping CommandLink.Completion) {
        self.commands.send(commands, then: then)
    }

    func together(_ body: () -> Void) {
        hold()
        body()
        release()
    }

    func hold() { commands.hold() }

    func release() { commands.release() }

    func want(_ topic: RedisTopic, _ isWanted: Bool) { feed.want(topic, isWanted) }

    /// The topic has moved to another server.
    func release(_ topic: RedisTopic) { feed.release(topic) }

    func generation(of topic: RedisTopic) -> Int { links.generation }

    var isOnline: Bool { links.isOnline }

    var heardAt: ContinuousClock.Instant? { links.heardAt }

    func look() { feed.look() }

    var trouble: UpstreamNotice? { master.trouble }

    var layout: RedisLayout {
        RedisLayout(anchors: [master.origin()], generations: [links.generation])
    }
}
