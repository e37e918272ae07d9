import Chat
import Ports
import Wire

/// Follows logs that live elsewhere: for each conversation in memory its replica is brought to the
/// present, by what the feed tells and what the origin is asked, and the cache is told to keep it.
/// Where the store is the origin there is nothing to follow.
///
/// Owned by the engine. It moves streams and tells those who watch them, through `Fanout`. It knows
/// no requests, lists or connections: what is to be done about those comes out as steps, in order,
/// which the engine takes after each event that it hands in.
final class Sync {
    /// What the rest of the engine is to do.
    enum Step {
        /// Something has changed for the calls that wait for the stream.
        case wake(Stream)
        /// The stream has moved, or no longer follows its log: answers to writes may be due.
        case release(Stream)
        /// Slot 0 (nil), or a message, has another value as of this change.
        case changed(Stream, EncodedMessage?, rev: Int)
        /// Lists are to show the conversation as it is.
        case list(Stream)
        /// There may be changes that nobody here knows.
        case opened(Stream)
        /// These do not take part any more.
        case left(Stream, users: [String])
        /// Their subscriptions have ended, because they do not.
        case removed(Stream, [Session])
        /// The log is gone, and the stream with it. These calls waited for it.
        case vanished(Stream, [Call])
        /// The same, but another log has the name, which stands at this head.
        case replaced(Stream, Head, [Call])
    }

    /// What the machines of an engine share.
    struct Shared {
        /// Nil where the store is the origin.
        let options: SyncOptions?
        let clock: Clock
        let streams: StreamRegistry
        let questions: Questions
        let fanout: Fanout
        let tally: Tally
        let steps = SyncSteps()
    }

    private let shared: Shared
    /// What the cache keeps.
    let store: ReplicaStore
    /// Moves streams.
    let applier: ReplicaApplier
    /// What the origin is asked.
    let fetcher: Fetcher
    /// Whether logs have what holders saw of them.
    let proofs: HeadProofs
    private var nextVerification: Timestamp

    /// - Parameter instance: some letters and digits that no other process uses.
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

    /// How clients see the upstream.
    var status: UpstreamStatus { applier.status }

    /// The upstream's link is up.
    var isLinked: Bool { applier.status.isLinked }

    /// Whether the link had time to come up once: right after the start its absence says nothing.
    var hasGivenTime: Bool { applier.status.hasGivenTime(at: now) }

    // MARK: - Steps

    func emit(_ step: Step) { shared.steps.emit(step) }

    /// What is to be done because of what happened since the last time, in order.
    func takeSteps() -> [Step] { shared.steps.take() }

    /// The stream has something that time decides.
    func watch(_ stream: Stream) { shared.steps.watch(stream) }

    // MARK: - The link

    /// The upstream's link is up, or is not.
    func linked(_ state: UpstreamState) {
        applier.status.linked(state == .online, at: now)
        for stream in shared.steps.watched {
            if !isLinked {
                emit(.wake(stream))
            } else if stream.replica?.backoff.isWaiting == true {
                // What could not be asked before can be now.
                stream.replica?.backoff.retry()
                fetcher.drive(stream)
            }
        }
    }

    /// The origin has acknowledged: from here on the feed tells of this conversation.
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

    /// Looks at what waits for a moment.
    /// - Parameter areListsWatched: whether somebody is told of last messages who does not watch
    ///   the conversation.
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

    /// - Returns: whether it is to be looked at again.
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
        let needsLast =
            stream.entry.needsLast && (areListsWatched || !stream.reading.readership.isEmpty)
        return !replica.isLive || replica.backoff.isWaiting || replica.holeSince != nil
            || replica.copy.isDetached || replica.isOwed || !stream.waits.calls.isEmpty
            || !stream.waits.replies.isEmpty || needsLast
    }

    // MARK: - Waiting

    /// The call waits for the stream, unless that is of no use or has lasted long enough.
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

    // MARK: - The life of a stream

    /// The conversation in memory; the store is asked for it if it is not there.
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

    /// Begins to follow a conversation: the cache is asked for it, and the origin for its feed.
    private func begin(_ stream: Stream) {
        stream.replica = Replica(at: now)
        questions.act(.subscribe(stream.id))
        store.read(.load(conversation: stream.id), for: .load(stream.id))
    }

    /// What the cache has of the conversation.
    func found(_ stream: Stream, _ result: Result<Answer, RequestError>) {
        guard stream.replica?.noteLoaded() == true else { return }
        if stream.state == nil, case .success(.loaded(let loaded)) = result,
            let cached = loaded.cached
        {
            stream.begin(loaded, seen: cached.seen, after: questions.last)
            stream.replica?.adopt(cached, upTo: max(loaded.head.rev, loaded.record.rev))
            stream.entry.needsLast = !stream.holds(last: loaded.lastMessage)
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

    /// Streams that nobody has watched for a while are given up; the cache keeps what it has.
    func dropIdle(_ options: SyncOptions) {
        for stream in streams.values.inOrder {
            guard stream.isIdle, stream.replica?.inFlight.isEmpty ?? true else {
                stream.lastUsed = now
                continue
            }
            if now >= stream.lastUsed.adding(options.linger) { dismiss(stream) }
        }
    }

    /// Takes the stream out of memory and its conversation out of the feed.
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
