import Dispatch
import Ports
import Synchronization
import Wire

/// The connection of one server's feed: subscribed to what is wanted, probed by pings through the
/// same pipe as the events. It owns a thread that connects and reconnects; each connection is a
/// generation of the feed. A slot that moves away ends its subscriptions on an unbroken connection:
/// that generation ends, and the next begins at once with the remaining ones.
// Safety: `wanted` is a mutex, and what else `let` holds is Sendable; the rest is touched on
// `queue` alone, which is serial and so the link's own thread.
final class FeedLink: @unchecked Sendable {
    /// Pings per deadline: with four, a connection that breaks was known to be alive at most half a
    /// second before.
    private static let pings = 4

    /// The most channels in one command. In a cluster each channel may be in another slot, and then
    /// the whole command would be refused.
    private static let batch = 500

    private enum Wish { case wanted, unwanted, elsewhere }

    private struct Wanted {
        var topics: Set<RedisTopic> = []
        /// Changes since the thread last looked, in order; empty while it is not connected.
        var changes: [(topic: RedisTopic, wish: Wish)] = []
        var isListening = false
        var isEnded = false
        /// Whether other shards remain, so that the end of this feed must be delivered.
        var isRetired = false
    }

    /// Who hears of the link, on its thread.
    struct Listener: Sendable {
        let notice: @Sendable (UpstreamNotice) -> Void
        let deliver: @Sendable ([UpstreamOutput]) -> Void
        /// The links' state may have changed.
        let report: @Sendable () -> Void
        /// The server says that a slot is not its own.
        var strayed: @Sendable () -> Void = {}
    }

    private let options: RedisOptions
    private let master: any MasterSource
    private let links: LinkPair
    private let watch: DisconnectWatch
    private let keys: RedisKeys
    private let listener: Listener
    private let queue = DispatchQueue(label: "gapless.redis.feed", qos: .userInitiated)
    private let wakeup = Wakeup()
    private let wanted = Mutex(Wanted())

    private var retries: Retries
    private var subscriptions = Subscriptions()
    private var generation = 0
    /// Whether the server has stopped a subscription that this generation promised.
    private var isRenewalDue = false
    private var ping = FeedPing()

    init(
        _ options: RedisOptions, master: any MasterSource, links: LinkPair,
        _ watch: DisconnectWatch, _ listener: Listener
    ) {
        self.options = options
        self.master = master
        self.links = links
        self.watch = watch
        self.listener = listener
        keys = RedisKeys(options)
        retries = Retries(of: .feed, options)
    }

    func start() { queue.async { self.run() } }

    /// Returns when nothing more will be delivered.
    func stop() {
        wanted.withLock { $0.isEnded = true }
        wakeup.wake()
        queue.sync {}
    }

    /// Ends, without waiting, and delivers `lapsed`.
    func retire() {
        wanted.withLock {
            $0.isEnded = true
            $0.isRetired = true
        }
        wakeup.wake()
    }

    /// Wakes the thread to look at the links' state.
    func look() { wakeup.wake() }

    /// From any thread, without waiting.
    func want(_ topic: RedisTopic, _ isWanted: Bool) {
        wish(topic, isWanted ? .wanted : .unwanted)
    }

    /// The topic has moved to another server.
    func release(_ topic: RedisTopic) { wish(topic, .elsewhere) }

    private func wish(_ topic: RedisTopic, _ wish: Wish) {
        wanted.withLock { wanted in
            if wish == .wanted {
                wanted.topics.insert(topic)
            } else {
                wanted.topics.remove(topic)
            }
            if wanted.isListening { wanted.changes.append((topic, wish)) }
        }
        wakeup.wake()
    }

    // MARK: on the thread

    private var isEnded: Bool { wanted.withLock { $0.isEnded } }

    private func run() {
        while !isEnded {
            listener.report()
            if retries.isDue(links, master) {
                retries.began()
                do throws(RedisError) {
                    try serve()
                    retries.failed(nil)
                } catch {
                    lost(error)
                    retries.failed(error)
                }
            } else {
                _ = Wakeup.poll(nil, writing: false, wakeup, until: retries.wait)
            }
        }
        links.feedClosed()
        _ = links.isOver("feed")
        if wanted.withLock({ $0.isRetired }), generation > 0 {
            listener.deliver([.lapsed(generation: generation)])
        }
    }

    private func lost(_ error: RedisError) {
        wanted.withLock {
            $0.isListening = false
            $0.changes = []
        }
        links.feedClosed()
        if let line = links.line("feed", UpstreamNotice(error)) { listener.notice(line) }
        if generation > 0 {
            listener.deliver([.lapsed(generation: generation)])
            generation = 0
        }
        subscriptions.removeAll()
        listener.report()
    }

    /// Connects and listens until the connection breaks, or the server is no longer the right one.
    private func serve() throws(RedisError) {
        guard let address = master.master(at: .now) else { throw .noMaster }
        let session = try RedisSession(
            options, at: address, origin: master.origin(), scripts: [])
        let connection = session.connection
        opened(session)
        while !isEnded {
            let now = ContinuousClock.now
            listener.report()
            guard master.master(at: now) == address else { throw .noMaster }
            guard !links.isTorn else {
                throw RedisError(
                    .notMaster, doing: "listen to", on: "\(address)",
                    seen: "other data than before: the server was emptied or exchanged",
                    detail: "connecting again")
            }
            guard !links.isDoubtful(at: now, lease: options.deadline) else {
                throw RedisError(
                    .notMaster, doing: "listen to", on: "\(address)",
                    seen: "a server that the commands don't find to be the master",
                    detail: "\(options.deadline)")
            }
            applyChanges(to: connection, now)
            if isRenewalDue { listener.deliver(renewal(session)) }
            if ping.sentAt == nil, now >= ping.provenAt + options.deadline / (2 * Self.pings) {
                connection.append(.words("PING"))
                ping.sent(behind: subscriptions.command, at: now)
            }
            try connection.flush()
            let ready = Wakeup.poll(
                connection.descriptor, writing: connection.hasOutput, wakeup,
                until: min(ping.provenAt + options.deadline, now + options.deadline / Self.pings))
            if ready.isReadable {
                let outputs = try take(try connection.receive(), address)
                links.feedHeard(at: .now)
                listener.deliver(isRenewalDue ? outputs + renewal(session) : outputs)
            }
            guard ContinuousClock.now < ping.provenAt + options.deadline else {
                throw RedisError(
                    .deadline, doing: "listen to", on: "\(address)", seen: "no answer to a ping",
                    detail: "\(options.deadline)")
            }
        }
    }

    private func opened(_ session: RedisSession) {
        generation = links.feedOpened(session.identity)
        links.feedHeard(at: .now)
        if links.isOver("feed") {
            listener.notice(
                UpstreamNotice(
                    .originConnected,
                    "the feed comes from Redis at \(session.connection.address)"))
        }
        retries.succeeded()
        ping.begin()
        isRenewalDue = false
        let all = wanted.withLock { wanted in
            wanted.isListening = true
            return wanted.topics
        }
        subscriptions.removeAll()
        ask(session.connection, all.map { ($0, .wanted) })
    }

    /// Starts a new generation with the subscriptions that the connection still has.
    private func renewal(_ session: RedisSession) -> [UpstreamOutput] {
        isRenewalDue = false
        let ended = generation
        generation = links.feedOpened(session.identity)
        return [.lapsed(generation: ended)] + subscriptions.held.compactMap(subscribed)
    }

    /// The output for a topic whose subscription is acknowledged.
    private func subscribed(_ topic: RedisTopic) -> UpstreamOutput? {
        switch topic {
        case .conversation(let id):
            return .subscribed(conversation: id.text, generation: generation)
        case .list(let id): return .subscribedList(user: id.text)
        case .disconnects:
            watch.listens(in: generation)
            return nil
        case .presence: return .presenceFollowed
        }
    }

    // MARK: asking

    private func applyChanges(to connection: RedisConnection, _ now: ContinuousClock.Instant) {
        let changes = wanted.withLock { wanted in
            defer { wanted.changes.removeAll(keepingCapacity: true) }
            return wanted.changes
        }
        var asked: [(topic: RedisTopic, wish: Wish)] = []
        for change in changes {
            guard change.wish == .elsewhere else {
                asked.append(change)
                continue
            }
            asked.removeAll { $0.topic == change.topic }
            if subscriptions.leave(change.topic) { isRenewalDue = true }
        }
        let again = subscriptions.takeRefused(at: now).subtracting(asked.map(\.topic))
        asked += again.map { ($0, .wanted) }
        ask(connection, asked)
    }

    /// Sends the commands, batching those of one kind as far as the order allows.
    private func ask(
        _ connection: RedisConnection, _ changes: [(topic: RedisTopic, wish: Wish)]
    ) {
        let limit = options.isCluster ? 1 : Self.batch
        var rest = changes[...]
        while let wish = rest.first?.wish {
            let same = rest.prefix(limit).prefix { $0.wish == wish }
            rest = rest.dropFirst(same.count)
            let word = (options.isCluster ? "S" : "") + (wish == .wanted ? "" : "UN") + "SUBSCRIBE"
            let channels = same.map { keys.channel(of: $0.topic) }
            connection.append(.words([Array(word.utf8)] + channels))
            subscriptions.begin()
            for change in same { subscriptions.ask(change.topic, wish == .wanted) }
        }
    }

    // MARK: hearing

    /// - Throws: `RedisError`, if the server refuses to let us listen.
    private func take(
        _ replies: [RedisReply], _ address: RedisOptions.Address
    ) throws(RedisError) -> [UpstreamOutput] {
        var outputs: [UpstreamOutput] = []
        for reply in replies {
            if let code = reply.errorCode {
                // A server that can't write, or is busy, answers a ping with that error: it is
                // alive.
                if RedisReply.signsOfLife.contains(code), ping.isNext(after: subscriptions) {
                    ping.answered()
                    continue
                }
                try refused(reply, code, address)
                continue
            }
            switch RedisPush(reply) {
            case .event(let channel, let event):
                guard let topic = keys.topic(ofChannel: channel), subscriptions.isWanted(topic)
                else { continue }
                if topic == .disconnects { watch.heard(event) }
                outputs += events(event, of: topic)
            case .acknowledged(let channel, let isWanted):
                guard let topic = keys.topic(ofChannel: channel) else { continue }
                switch subscriptions.acknowledged(topic, isWanted) {
                case .nothing: break
                case .held: outputs += [subscribed(topic)].compactMap { $0 }
                case .lost: isRenewalDue = true
                }
                if !subscriptions.refused.isEmpty { stray() }
            case .pong:
                ping.answered()
            case .nothing: break
            }
        }
        return outputs
    }

    private func refused(
        _ reply: RedisReply, _ code: String, _ address: RedisOptions.Address
    ) throws(RedisError) {
        switch code {
        case "MOVED", "ASK":
            let slot = reply.redirection?.slot
            subscriptions.refuse { HashSlot.of(keys.channel(of: $0)) == slot }
        case "CLUSTERDOWN", "TRYAGAIN": subscriptions.refuse { _ in true }
        case _ where RedisReply.signsOfLife.contains(code): subscriptions.refuse { _ in true }
        default:
            throw RedisError(.refused, doing: "listen to", on: "\(address)", reply)
        }
        stray()
    }

    /// A slot's topics have moved, or have no owner now: the cluster map must be refreshed.
    private func stray() {
        if subscriptions.askAgain(at: .now + options.deadline / Self.pings) { listener.strayed() }
    }

    private func events(_ event: [UInt8], of topic: RedisTopic) -> [UpstreamOutput] {
        guard topic != .disconnects else { return [] }
        if topic == .presence, let users = RedisEvent.presence(event) {
            return [.presenceChanged(users)]
        }
        guard let events = RedisEvent.decode(event, of: topic) else {
            // A newer gateway may send unknown events. Their changes leave a gap in the numbers,
            // which is then fetched.
            listener.notice(UpstreamNotice(.feedEventUnreadable, "an event that is none"))
            return []
        }
        return events.map(UpstreamOutput.feed)
    }
}
