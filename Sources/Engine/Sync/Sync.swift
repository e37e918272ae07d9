import Chat
import Ports
import Wire

/// Follows logs that live elsewhere: brings the replica of each conversation in memory to the
/// present, from the feed and the origin's answers, and has the cache keep it. If the store is the
/// origin there is nothing to follow.
///
/// Owned by the engine. It moves streams and notifies subscribers through `Fanout`. It knows no
/// requests, lists or connections: consequences for those are emitted as steps, in order, which the
/// engine takes after each event.
final class Sync {
    /// Work for the rest of the engine.
    enum Step {
        /// The calls that wait for the stream may be able to go on.
        case wake(Stream)
        /// The stream moved, or no longer follows its log: answers to writes may be due.
        case release(Stream)
        /// A message, or slot 0 (nil), has a new value as of this change.
        case changed(Stream, EncodedMessage?, rev: Int, mark: String?)
        /// Lists must show the conversation's current state.
        case list(Stream)
        /// There may be changes that this gateway does not know.
        case opened(Stream)
        /// These users no longer take part.
        case left(Stream, users: [String])
        /// The subscriptions of such users have ended.
        case removed(Stream, [Session])
        /// The log and its stream are gone. These calls waited for it.
        case vanished(Stream, [Call])
        /// The same, but another log has the name, with this head.
        case replaced(Stream, Head, [Call])
        /// A log lost what this gateway had of it: other logs, and lists, may have lost as much.
        case branched
    }

    /// Shared by the parts of an engine.
    struct Shared {
        /// Nil if the store is the origin.
        let options: SyncOptions?
        let clock: Clock
        let streams: StreamRegistry
        let questions: Questions
        let fanout: Fanout
        let tally: Tally
        let steps = SyncSteps()
    }

    private let shared: Shared
    /// Writes the cache.
    let store: ReplicaStore
    /// Moves streams.
    let applier: ReplicaApplier
    /// Asks the origin.
    let fetcher: Fetcher
    /// Checks whether logs have what holders saw.
    let proofs: HeadProofs
    private var nextVerification: Timestamp

    /// - Parameter instance: letters and digits that no other process uses.
    init(_ shared: Shared, instance: String) {
        self.shared = shared
        store = ReplicaStore(shared)
        applier = ReplicaApplier(shared, store)
        fetcher = Fetcher(shared, applier, instance: instance)
        proofs = HeadProofs(shared, store, fetcher)
        nextVerification = shared.clock.now.adding(shared.options?.verifyInterval ?? 0)
    }

    var options: SyncOptions? { shared.options }
    var clock: Clock { shared.clock }
    var streams: StreamRegistry { shared.streams }
    var questions: Questions { shared.questions }
    var fanout: Fanout { shared.fanout }
    var tally: Tally { shared.tally }
    var now: Timestamp { shared.clock.now }

    /// Whether the streams follow logs that live elsewhere.
    var mirrors: Bool { options != nil }

    /// The upstream's state as clients see it.
    var status: UpstreamStatus { applier.status }

    /// Whether the upstream's link is up.
    var isLinked: Bool { applier.status.isLinked }

    /// Whether the link had time to come up once: right after the start its absence means nothing.
    var hasGivenTime: Bool { applier.status.hasGivenTime(at: now) }

    // MARK: - Steps

    func emit(_ step: Step) { shared.steps.emit(step) }

    /// The steps since the last call, in order.
    func takeSteps() -> [Step] { shared.steps.take() }

    /// Registers the stream for a look in each tick.
    func watch(_ stream: Stream) { shared.steps.watch(stream) }

    // MARK: - The link

    /// The upstream's link came up or went down.
    func linked(_ state: UpstreamState) {
        applier.status.linked(state == .online, at: now)
        for stream in shared.steps.watched {
            if !isLinked {
                emit(.wake(stream))
            } else if stream.replica?.backoff.isWaiting == true {
                // Questions that could not be asked before can be asked now.
                stream.replica?.backoff.retry()
                fetcher.drive(stream)
            }
        }
    }

    /// The origin acknowledged the subscription: from here on the feed has this conversation.
    /// - Parameter reading: how many readings of lists had begun.
    func subscribed(_ conversation: String, generation: Int, reading: Int) {
        guard let stream = streams[conversation.id], let wasLive = stream.replica?.isLive else {
            return
        }
        stream.reading.followedSince = reading
        stream.replica?.acknowledged(generation: generation, isKnown: stream.state != nil)
        if wasLive { applier.tellOpen(stream) }
        stream.waits.events = []
        stream.reading.readership = Readership()
        fetcher.drive(stream)
    }

    /// Every subscription of that generation has ended.
    func lapsed(generation: Int) {
        for stream in streams.values.inOrder where stream.replica?.generation == generation {
            fanout.flush(stream)
            stream.replica?.lapsed(at: now)
            stream.waits.events = []
            if !stream.subscribers.isEmpty || stream.entry.listed > 0 {
                applier.status.fellBehind(stream.id.id)
            }
            watch(stream)
            emit(.wake(stream))
        }
    }

    // MARK: - Time

    /// Time has passed since the last input. The loop has work every tenth of a second: after more
    /// than the link's deadline the process stood still, and what was live then may be the past.
    func passed(since last: Timestamp) {
        guard let options, now > last.adding(options.linkDeadline) else { return }
        // An answer that is on its way is as old as the pause, whatever it is about.
        for stream in streams.values.inOrder where stream.replica?.isBroken == false {
            compareAnew(stream)
        }
    }

    /// Handles timeouts and retries.
    /// - Parameter areListsWatched: whether clients that need not watch the conversation see last
    ///   messages in lists.
    func tick(areListsWatched: Bool) {
        guard let options else { return }
        for stream in shared.steps.watched where !look(at: stream, options, areListsWatched) {
            shared.steps.unwatch(stream)
        }
        guard now >= nextVerification else { return }
        nextVerification = now.adding(options.verifyInterval)
        let live = streams.values.filter {
            $0.replica?.isLive == true && (!$0.subscribers.isEmpty || $0.entry.listed > 0)
        }
        fetcher.compareHeads(of: live.inOrder)
    }

    /// - Returns: whether the next tick must look again.
    private func look(at stream: Stream, _ options: SyncOptions, _ areListsWatched: Bool) -> Bool {
        guard streams.has(stream), let isDetached = stream.replica?.copy.isDetached else {
            return false
        }
        stream.replica?.backoff.retry(at: now)
        if stream.replica?.givesUpHole(at: now, grace: options.gapGrace) == true {
            applier.tellOpen(stream)
        }
        if isDetached { store.attach(stream) }
        fetcher.drive(stream)
        if stream.entry.needsLast, stream.replica?.backoff.isWaiting == false {
            emit(.list(stream))
        }
        if stream.waits.calls.contains(where: { $0.deadline.map { $0 <= now } ?? false }) {
            emit(.wake(stream))
        }
        if !stream.waits.replies.isEmpty { emit(.release(stream)) }
        guard let replica = stream.replica else { return false }
        // A reply may have said `open` of what its caller alone knew.
        if replica.isLive, replica.hole == nil, !replica.identity.isAsking {
            fanout.touch(stream)
        }
        let needsLast =
            stream.entry.needsLast && (areListsWatched || !stream.reading.readership.isEmpty)
        return !replica.isLive || replica.backoff.isWaiting || replica.hole != nil
            || replica.identity.isAsking
            || replica.copy.isDetached || replica.isOwed || !stream.waits.calls.isEmpty
            || !stream.waits.replies.isEmpty || needsLast
    }

    // MARK: - Waiting

    /// Makes the call wait for the stream, unless that is useless or took too long already.
    /// - Returns: whether it waits.
    func wait(_ call: Call, for stream: Stream) -> Bool {
        guard let options, !fetcher.isUnavailable(stream), stream.replica?.copy.isDetached == false
        else {
            return false
        }
        var call = call
        if let deadline = call.deadline {
            guard now < deadline else { return false }
        } else {
            call.deadline = now.adding(options.wait)
        }
        stream.waits.calls.append(call)
        watch(stream)
        return true
    }

    // MARK: - Streams

    /// The conversation in memory; if it is not there, the store is asked for it.
    func stream(_ conversation: String) -> Stream {
        if let stream = streams[conversation.id] {
            stream.lastUsed = now
            return stream
        }
        let stream = Stream(id: conversation, at: now)
        streams[conversation.id] = stream
        if mirrors {
            begin(stream)
        } else {
            store.read(.load(conversation: conversation), for: .load(conversation))
        }
        return stream
    }

    /// Begins to follow a conversation: reads the cache and subscribes to the origin's feed.
    private func begin(_ stream: Stream) {
        stream.replica = Replica(at: now)
        questions.act(.subscribe(stream.id))
        store.read(.load(conversation: stream.id), for: .load(stream.id))
    }

    /// The cache answered with what it has of the conversation.
    func found(_ stream: Stream, _ result: Result<Answer, RequestError>) {
        guard stream.replica?.noteLoaded() == true else { return }
        if stream.state == nil, case .success(.loaded(let loaded)) = result,
            var cached = loaded.cached
        {
            stream.begin(loaded, seen: cached.seen, after: questions.last)
            let from = cached.changesFrom(at: loaded.head.rev)
            if from < cached.changesFrom {
                store.hasChanges(from: from, of: stream)
                cached.changesFrom = from
            }
            stream.replica?.adopt(cached)
            stream.entry.needsLast = !stream.holds(last: loaded.lastMessage)
            takeAcknowledged(stream)
            takeEarly(stream)
        }
        if stream.entry.isToBeAnnounced {
            stream.entry.isToBeAnnounced = false
            emit(.list(stream))
        }
        watch(stream)
        fetcher.drive(stream)
        emit(.wake(stream))
    }

    /// Dismisses streams that were idle for a while; the cache keeps what it has.
    func dropIdle(_ options: SyncOptions) {
        for stream in streams.values.inOrder {
            guard stream.isIdle, stream.replica?.inFlight.isEmpty ?? true else {
                stream.lastUsed = now
                continue
            }
            if now >= stream.lastUsed.adding(options.linger) { dismiss(stream) }
        }
    }

    /// Drops the stream from memory and unsubscribes from its feed.
    func dismiss(_ stream: Stream) {
        store.save(stream)
        stream.replica?.dismissed()
        questions.act(.unsubscribe(stream.id))
        streams[stream.id.id] = nil
        shared.steps.unwatch(stream)
        applier.status.settled(stream.id.id)
    }

    /// The log of the stream is gone, or another one has its name.
    /// - Returns: the calls that waited for it.
    func end(_ stream: Stream) -> [Call] {
        fanout.flush(stream)
        let waiting = stream.waits.takeCalls()
        dismiss(stream)
        return waiting
    }
}
