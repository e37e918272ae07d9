import Dispatch
import Engine
import Synchronization
import Wire

/// The connection on which the feed comes: subscribed to what is wanted, probed by pings that go
/// through the same pipe as the events. It owns a thread that connects, and connects again; each
/// connection is a generation of the feed. It alone tells what state the upstream is in, so that
/// this and the events stand in one order.
// Safety: `wanted` is a mutex, and what else `let` holds is Sendable; the rest is touched on
// `queue` alone, which is serial and so the link's own thread.
final class FeedLink: @unchecked Sendable {
    /// How many pings there are within the deadline: with four, the connection is known to have
    /// been alive at most half a second before it broke.
    private static let pings = 4

    /// How many channels are named in one command.
    private static let batch = 500

    private struct Wanted {
        var topics: Set<RedisTopic> = []
        /// What was asked for since the thread looked, in order; while nobody listens, nothing.
        var changes: [(topic: RedisTopic, isWanted: Bool)] = []
        var isListening = false
        var isStopped = false
    }

    /// A topic in this generation.
    private struct Subscription {
        var isWanted: Bool
        /// Commands that were sent and are not acknowledged yet. Only when there are none does an
        /// acknowledgement say that the server really holds the subscription.
        var outstanding = 0
    }

    private let options: RedisOptions
    private let master: any MasterSource
    private let standing: Standing
    private let keys: RedisKeys
    private let notice: @Sendable (RedisNotice) -> Void
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let queue = DispatchQueue(label: "gapless.redis.feed", qos: .userInitiated)
    private let wakeup = Wakeup()
    private let wanted = Mutex(Wanted())

    private var backoff: Backoff
    private var subscriptions: [RedisTopic: Subscription] = [:]
    private var generation = 0
    private var reported: UpstreamState?
    /// When the newest ping was sent that was answered: all that was published before has come.
    private var provenAt = ContinuousClock.now
    private var pingSentAt: ContinuousClock.Instant?

    init(
        _ options: RedisOptions, master: any MasterSource, standing: Standing,
        notice: @escaping @Sendable (RedisNotice) -> Void,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void
    ) {
        self.options = options
        self.master = master
        self.standing = standing
        self.notice = notice
        self.deliver = deliver
        keys = RedisKeys(options)
        backoff = Backoff(base: options.backoffBase, limit: options.backoffMax)
    }

    func start() { queue.async { self.run() } }

    /// Returns when nothing more will be delivered.
    func stop() {
        wanted.withLock { $0.isStopped = true }
        wakeup.wake()
        queue.sync {}
    }

    /// Something about the standing has changed, which this thread is to look at.
    func look() { wakeup.wake() }

    /// From any thread, without waiting.
    func want(_ topic: RedisTopic, _ isWanted: Bool) {
        wanted.withLock { wanted in
            if isWanted {
                wanted.topics.insert(topic)
            } else {
                wanted.topics.remove(topic)
            }
            if wanted.isListening { wanted.changes.append((topic, isWanted)) }
        }
        wakeup.wake()
    }

    // MARK: on the thread

    private var isStopped: Bool { wanted.withLock { $0.isStopped } }

    private func run() {
        var nextTry = ContinuousClock.now
        while !isStopped {
            report()
            if ContinuousClock.now >= nextTry {
                do throws(RedisError) {
                    try serve()
                } catch {
                    lost(error)
                }
                nextTry = .now + backoff.failed()
            } else {
                _ = Wakeup.poll(nil, writing: false, wakeup, until: nextTry)
            }
        }
        standing.feedClosed()
    }

    private func report() {
        let state: UpstreamState = standing.isOnline ? .online : .offline
        guard state != reported else { return }
        reported = state
        deliver([.state(state)])
    }

    private func lost(_ error: RedisError) {
        wanted.withLock {
            $0.isListening = false
            $0.changes = []
        }
        standing.feedClosed()
        if standing.note("feed", error.description) {
            notice(RedisNotice(.error, error.description))
        }
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
        let session = try RedisSession(options, at: address, scripts: [])
        let connection = session.connection
        opened(session)
        while !isStopped {
            let now = ContinuousClock.now
            report()
            guard master.master(at: now) == address else { throw .noMaster }
            guard !standing.isTorn else {
                throw RedisError(
                    .notMaster, doing: "listen to", on: "\(address)",
                    seen: "other data than the commands go to", detail: "connecting again")
            }
            applyChanges(to: connection)
            if pingSentAt == nil, now >= provenAt + options.deadline / (2 * Self.pings) {
                connection.append(.words("PING"))
                pingSentAt = now
            }
            try connection.flush()
            let ready = Wakeup.poll(
                connection.descriptor, writing: connection.hasOutput, wakeup,
                until: min(provenAt + options.deadline, now + options.deadline / Self.pings))
            if ready.isReadable { take(try connection.receive()) }
            guard ContinuousClock.now < provenAt + options.deadline else {
                throw RedisError(
                    .deadline, doing: "listen to", on: "\(address)", seen: "no answer to a ping",
                    detail: "\(options.deadline)")
            }
        }
    }

    private func opened(_ session: RedisSession) {
        generation = standing.feedOpened(session.identity)
        if standing.note("feed", nil) {
            notice(RedisNotice(.info, "the feed comes from Redis at \(session.connection.address)"))
        }
        backoff.succeeded()
        provenAt = .now
        pingSentAt = nil
        let all = wanted.withLock { wanted in
            wanted.isListening = true
            return wanted.topics
        }
        subscriptions.removeAll(keepingCapacity: true)
        ask(session.connection, all.map { ($0, true) })
    }

    private func applyChanges(to connection: RedisConnection) {
        let changes = wanted.withLock { wanted in
            defer { wanted.changes.removeAll(keepingCapacity: true) }
            return wanted.changes
        }
        ask(connection, changes)
    }

    /// Sends the commands, those of a kind together as long as the order allows it.
    private func ask(
        _ connection: RedisConnection, _ changes: [(topic: RedisTopic, isWanted: Bool)]
    ) {
        var rest = changes[...]
        while let kind = rest.first?.isWanted {
            let same = rest.prefix(Self.batch).prefix { $0.isWanted == kind }
            rest = rest.dropFirst(same.count)
            let channels = same.map { keys.channel(of: $0.topic) }
            connection.append(.words([Array((kind ? "SUBSCRIBE" : "UNSUBSCRIBE").utf8)] + channels))
            for change in same {
                subscriptions[change.topic, default: Subscription(isWanted: kind)].isWanted = kind
                subscriptions[change.topic]?.outstanding += 1
            }
        }
    }

    private func take(_ replies: [RedisReply]) {
        var outputs: [UpstreamOutput] = []
        for reply in replies {
            let parts = reply.elements
            switch (parts.first ?? reply).string {
            case "message":
                guard let channel = parts[1].bytes, let event = parts[2].bytes,
                    let topic = keys.topic(ofChannel: channel)
                else { continue }
                outputs += events(event, of: topic)
            case "subscribe", "unsubscribe":
                if let output = acknowledged(parts) { outputs.append(output) }
            case "pong", "PONG":
                if let sentAt = pingSentAt { provenAt = sentAt }
                pingSentAt = nil
            default: break
            }
        }
        if !outputs.isEmpty { deliver(outputs) }
    }

    private func acknowledged(_ parts: [RedisReply]) -> UpstreamOutput? {
        guard let channel = parts[1].bytes, let topic = keys.topic(ofChannel: channel),
            var subscription = subscriptions[topic]
        else { return nil }
        subscription.outstanding -= 1
        guard subscription.outstanding == 0 else {
            subscriptions[topic] = subscription
            return nil
        }
        subscriptions[topic] = subscription.isWanted ? subscription : nil
        guard subscription.isWanted, case .conversation(let id) = topic else { return nil }
        return .subscribed(conversation: id.text, generation: generation)
    }

    private func events(_ event: [UInt8], of topic: RedisTopic) -> [UpstreamOutput] {
        guard let events = RedisEvent.decode(event, of: topic) else {
            // A newer gateway may say what this one does not know. What it changed is missing in
            // the numbers, and will be asked for.
            notice(RedisNotice(.warning, "an event of the feed can't be read"))
            return []
        }
        return events.map(UpstreamOutput.feed)
    }
}
