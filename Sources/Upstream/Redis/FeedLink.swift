import Dispatch
import Ports
import Synchronization
import Wire

/// The connection on which the feed of one server comes: subscribed to what is wanted, probed by
/// pings that go through the same pipe as the events. It owns a thread that connects, and connects
/// again; each connection is a generation of the feed. A slot that moves away takes its topics out
/// of an unbroken connection: then the generation ends, and the next one begins at once with what
/// is left.
// Safety: `wanted` is a mutex, and what else `let` holds is Sendable; the rest is touched on
// `queue` alone, which is serial and so the link's own thread.
final class FeedLink: @unchecked Sendable {
    /// How many pings there are within the deadline: with four, the connection is known to have
    /// been alive at most half a second before it broke.
    private static let pings = 4

    /// How many channels are named in one command. In a cluster each may be in another slot, and
    /// then the command is refused as a whole.
    private static let batch = 500

    private enum Wish { case wanted, unwanted, elsewhere }

    private struct Wanted {
        var topics: Set<RedisTopic> = []
        /// What was asked for since the thread looked, in order; while nobody listens, nothing.
        var changes: [(topic: RedisTopic, wish: Wish)] = []
        var isListening = false
        var isEnded = false
        /// Whether others go on, who are to be told that this feed has ended.
        var isRetired = false
    }

    private let options: RedisOptions
    private let master: any MasterSource
    private let links: LinkPair
    private let watch: DisconnectWatch
    private let keys: RedisKeys
    private let notice: @Sendable (RedisNotice) -> Void
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    /// Called on the link's thread: when the links may be another, and when the server says that
    /// a slot is not its.
    private let report: @Sendable () -> Void
    private let strayed: @Sendable () -> Void
    private let queue = DispatchQueue(label: "gapless.redis.feed", qos: .userInitiated)
    private let wakeup = Wakeup()
    private let wanted = Mutex(Wanted())

    private var backoff: Backoff
    private var subscriptions = Subscriptions()
    private var generation = 0
    /// Whether the server does not tell any more of what this generation promised.
    private var isRenewalDue = false
    /// When what was refused is asked for again.
    private var askAgainAt: ContinuousClock.Instant?
    /// When the newest ping was sent that was answered: all that was published before has come.
    private var provenAt = ContinuousClock.now
    /// Nobody was named master when it was tried last.
    private var lacksMaster = false
    private var pingSentAt: ContinuousClock.Instant?

    init(
        _ options: RedisOptions, master: any MasterSource, links: LinkPair,
        _ watch: DisconnectWatch,
        notice: @escaping @Sendable (RedisNotice) -> Void,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void,
        report: @escaping @Sendable () -> Void, strayed: @escaping @Sendable () -> Void
    ) {
        self.options = options
        self.master = master
        self.links = links
        self.watch = watch
        self.notice = notice
        self.deliver = deliver
        self.report = report
        self.strayed = strayed
        keys = RedisKeys(options)
        backoff = Backoff(
            base: options.backoffBase, limit: min(options.backoffMax, Backoff.longest))
    }

    func start() { queue.async { self.run() } }

    /// Returns when nothing more will be delivered.
    func stop() {
        wanted.withLock { $0.isEnded = true }
        wakeup.wake()
        queue.sync {}
    }

    /// Ends, without waiting, and says that it did.
    func retire() {
        wanted.withLock {
            $0.isEnded = true
            $0.isRetired = true
        }
        wakeup.wake()
    }

    /// Something about the links has changed, which this thread is to look at.
    func look() { wakeup.wake() }

    /// From any thread, without waiting.
    func want(_ topic: RedisTopic, _ isWanted: Bool) {
        wish(topic, isWanted ? .wanted : .unwanted)
    }

    /// The topic is told of at another server now.
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
        var nextTry = ContinuousClock.now
        var tried = nextTry
        while !isEnded {
            report()
            if isDue(nextTry, since: tried) {
                tried = .now
                do throws(RedisError) {
                    try serve()
                } catch {
                    lost(error)
                }
                nextTry = .now + backoff.failed()
            } else {
                let glance = ContinuousClock.now + Self.glance
                _ = Wakeup.poll(nil, writing: false, wakeup, until: min(nextTry, glance))
            }
        }
        links.feedClosed()
        _ = links.isOver("feed")
        if wanted.withLock({ $0.isRetired }), generation > 0 {
            deliver([.lapsed(generation: generation)])
        }
    }

    /// How often a link that waits looks whether anything shows that the server is there.
    private static let glance = Duration.milliseconds(100)

    /// Whether to try again: the wait is over, or the server is there for others.
    private func isDue(_ nextTry: ContinuousClock.Instant, since tried: ContinuousClock.Instant)
        -> Bool
    {
        let now = ContinuousClock.now
        if now >= nextTry { return true }
        guard now >= tried + options.backoffBase else { return false }
        return links.hasUp(besides: .feed, since: tried)
            || lacksMaster && master.master(at: now) != nil
    }

    private func lost(_ error: RedisError) {
        lacksMaster = error == .noMaster
        wanted.withLock {
            $0.isListening = false
            $0.changes = []
        }
        links.feedClosed()
        if let line = links.line("feed", error.description) { notice(RedisNotice(.error, line)) }
        if generation > 0 {
            deliver([.lapsed(generation: generation)])
            generation = 0
        }
        subscriptions.removeAll()
        report()
    }

    /// Connects and listens until the connection breaks, or is not the right one any more.
    /// - Throws: `RedisError`, with what broke it.
    private func serve() throws(RedisError) {
        guard let address = master.master(at: .now) else { throw .noMaster }
        let session = try RedisSession(
            options, at: address, origin: master.origin(), scripts: [])
        let connection = session.connection
        opened(session)
        while !isEnded {
            let now = ContinuousClock.now
            report()
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
            if isRenewalDue { deliver(renewal(session)) }
            if pingSentAt == nil, now >= provenAt + options.deadline / (2 * Self.pings) {
                connection.append(.words("PING"))
                pingSentAt = now
            }
            try connection.flush()
            let ready = Wakeup.poll(
                connection.descriptor, writing: connection.hasOutput, wakeup,
                until: min(provenAt + options.deadline, now + options.deadline / Self.pings))
            if ready.isReadable {
                let outputs = try take(try connection.receive(), address)
                links.feedHeard(at: .now)
                deliver(isRenewalDue ? outputs + renewal(session) : outputs)
            }
            guard ContinuousClock.now < provenAt + options.deadline else {
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
            notice(RedisNotice(.info, "the feed comes from Redis at \(session.connection.address)"))
        }
        backoff.succeeded()
        provenAt = .now
        pingSentAt = nil
        askAgainAt = nil
        isRenewalDue = false
        let all = wanted.withLock { wanted in
            wanted.isListening = true
            return wanted.topics
        }
        subscriptions.removeAll()
        ask(session.connection, all.map { ($0, .wanted) })
    }

    /// What the connection still holds goes on in a generation of its own.
    private func renewal(_ session: RedisSession) -> [UpstreamOutput] {
        isRenewalDue = false
        let ended = generation
        generation = links.feedOpened(session.identity)
        return [.lapsed(generation: ended)] + subscriptions.held.compactMap(subscribed)
    }

    /// What there is to say of a topic that the server tells of from here on.
    private func subscribed(_ topic: RedisTopic) -> UpstreamOutput? {
        switch topic {
        case .conversation(let id):
            return .subscribed(conversation: id.text, generation: generation)
        case .list(let id): return .subscribedList(user: id.text)
        case .disconnects:
            watch.listens(in: generation)
            return nil
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
        if let due = askAgainAt, now >= due {
            askAgainAt = nil
            let again = subscriptions.refused.subtracting(asked.map(\.topic))
            asked += again.map { ($0, .wanted) }
        }
        ask(connection, asked)
    }

    /// Sends the commands, those of a kind together as long as the order allows it.
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
            for change in same { subscriptions.ask(change.topic, wish == .wanted) }
        }
    }

    // MARK: hearing

    /// - Throws: `RedisError`, if the server refuses to be listened to.
    private func take(
        _ replies: [RedisReply], _ address: RedisOptions.Address
    ) throws(RedisError) -> [UpstreamOutput] {
        var outputs: [UpstreamOutput] = []
        for reply in replies {
            if let code = reply.errorCode {
                // A server that can't write, or is busy, says so to a ping too: it is there.
                if let sentAt = pingSentAt, RedisReply.signsOfLife.contains(code) {
                    provenAt = sentAt
                    pingSentAt = nil
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
                if let sentAt = pingSentAt { provenAt = sentAt }
                pingSentAt = nil
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
        default:
            throw RedisError(.refused, doing: "listen to", on: "\(address)", reply)
        }
        stray()
    }

    /// The topics of a slot are elsewhere, or nowhere for now: whoever knows more is to look.
    private func stray() {
        guard askAgainAt == nil else { return }
        askAgainAt = .now + options.deadline / Self.pings
        strayed()
    }

    private func events(_ event: [UInt8], of topic: RedisTopic) -> [UpstreamOutput] {
        guard topic != .disconnects else { return [] }
        guard let events = RedisEvent.decode(event, of: topic) else {
            // A newer gateway may say what this one does not know. What it changed is missing in
            // the numbers, and will be asked for.
            notice(RedisNotice(.warning, "an event of the feed can't be read"))
            return []
        }
        return events.map(UpstreamOutput.feed)
    }
}
