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

    /// Nil where the store is the origin.
    let options: SyncOptions?
    let clock: Clock
    let streams: StreamRegistry
    let questions: Questions
    let fanout: Fanout
    let tally: Tally
    /// How clients see the upstream.
    var status: UpstreamStatus
    /// What the origin is asked.
    var fetches: FetchQueue
    /// What the cache is to keep at the end of the turn.
    var writer: ReplicaWriter
    /// Streams with something that time decides.
    private var watchful: [ID: Stream] = [:]
    private var nextVerification: Timestamp
    private var steps: [Step] = []

    /// What the machines of an engine share.
    struct Shared {
        let clock: Clock
        let streams: StreamRegistry
        let questions: Questions
        let fanout: Fanout
        let tally: Tally
    }

    /// - Parameter instance: some letters and digits that no other process uses.
    init(_ options: SyncOptions?, _ shared: Shared, instance: String) {
        self.options = options
        clock = shared.clock
        streams = shared.streams
        questions = shared.questions
        fanout = shared.fanout
        tally = shared.tally
        let now = shared.clock.now
        status = UpstreamStatus(wait: options?.wait, at: now)
        fetches = FetchQueue(instance: instance)
        writer = ReplicaWriter(trimAfter: options?.trimAfter, at: now)
        nextVerification = now.adding(options?.verifyInterval ?? 0)
    }

    var now: Timestamp { clock.now }

    /// Whether the streams follow logs that live elsewhere.
    var mirrors: Bool { options != nil }

    /// The upstream's link is up.
    var isLinked: Bool { status.isLinked }

    /// Whether the link had time to come up once: right after the start its absence says nothing.
    var hasGivenTime: Bool { status.hasGivenTime(at: now) }

    // MARK: - Steps

    func emit(_ step: Step) { steps.append(step) }

    /// What is to be done because of what happened since the last time, in order.
    func takeSteps() -> [Step] {
        guard !steps.isEmpty else { return [] }
        defer { steps = [] }
        return steps
    }

    // MARK: - The link

    /// The upstream's link is up, or is not.
    func linked(_ state: UpstreamState) {
        status.linked(state == .online, at: now)
        for stream in watchful.values.inOrder {
            if !isLinked {
                emit(.wake(stream))
            } else if stream.replica?.backoff.isWaiting == true {
                // What could not be asked before can be now.
                stream.replica?.backoff.retry()
                drive(stream)
            }
        }
    }

    /// The origin has acknowledged: from here on the feed tells of this conversation.
    /// - Parameter reading: how many readings of lists had begun.
    func subscribed(_ conversation: String, generation: Int, reading: Int) {
        guard let stream = streams[conversation.id], let wasLive = stream.replica?.isLive else {
            return
        }
        stream.followedSince = reading
        stream.replica?.acknowledged(generation: generation, isKnown: stream.state != nil)
        if wasLive { tellOpen(stream) }
        stream.early = []
        stream.readership = Readership()
        drive(stream)
    }

    /// Every subscription of that generation has ended.
    func lapsed(generation: Int) {
        for stream in streams.values.inOrder where stream.replica?.generation == generation {
            fanout.flush(stream)
            stream.replica?.lapsed(at: now)
            stream.early = []
            if !stream.subscribers.isEmpty || stream.listed > 0 {
                status.fellBehind(stream.id.id)
            }
            watch(stream)
            emit(.wake(stream))
        }
    }

    /// Those who watch are told by name that there may be more than they know.
    func tellOpen(_ stream: Stream) {
        emit(.opened(stream))
        fanout.tellOpen(stream)
    }

    // MARK: - Time

    /// The stream has something that time decides.
    func watch(_ stream: Stream) { watchful[stream.id.id] = stream }

    /// Looks at what waits for a moment.
    /// - Parameter areListsWatched: whether somebody is told of last messages who does not watch
    ///   the conversation.
    func tick(areListsWatched: Bool) {
        guard let options else { return }
        for stream in watchful.values.inOrder where !look(at: stream, options, areListsWatched) {
            watchful[stream.id.id] = nil
        }
        guard now >= nextVerification else { return }
        nextVerification = now.adding(options.verifyInterval)
        let live = streams.values.filter {
            $0.replica?.isLive == true && (!$0.subscribers.isEmpty || $0.listed > 0)
        }
        fetches.compareHeads(of: live.inOrder)
    }

    /// - Returns: whether it is to be looked at again.
    private func look(at stream: Stream, _ options: SyncOptions, _ areListsWatched: Bool) -> Bool {
        guard streams.has(stream), let isDetached = stream.replica?.copy.isDetached else {
            return false
        }
        stream.replica?.backoff.retry(at: now)
        if stream.replica?.givesUpHole(at: now, grace: options.gapGrace) == true {
            tellOpen(stream)
        }
        if isDetached { writer.attach(stream, at: now) }
        drive(stream)
        if stream.needsLast, stream.replica?.backoff.isWaiting == false { emit(.list(stream)) }
        if stream.waiting.contains(where: { $0.deadline.map { $0 <= now } ?? false }) {
            emit(.wake(stream))
        }
        if !stream.heldReplies.isEmpty { emit(.release(stream)) }
        guard let replica = stream.replica else { return false }
        let needsLast =
            stream.needsLast && (areListsWatched || !stream.readership.isEmpty)
        return !replica.isLive || replica.backoff.isWaiting || replica.holeSince != nil
            || replica.copy.isDetached || replica.isOwed || !stream.waiting.isEmpty
            || !stream.heldReplies.isEmpty || needsLast
    }

    // MARK: - Waiting

    /// The call waits for the stream, unless that is of no use or has lasted long enough.
    /// - Returns: whether it waits.
    func wait(_ call: Call, for stream: Stream) -> Bool {
        guard let options, !isUnavailable(stream), stream.replica?.copy.isDetached == false else {
            return false
        }
        var call = call
        if let deadline = call.deadline {
            guard now < deadline else { return false }
        } else {
            call.deadline = now.adding(options.wait)
        }
        stream.waiting.append(call)
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
            read(.load(conversation: conversation), for: .load(conversation))
        }
        return stream
    }

    /// Begins to follow a conversation: the cache is asked for it, and the origin for its feed.
    private func begin(_ stream: Stream) {
        stream.replica = Replica(at: now)
        questions.act(.subscribe(stream.id))
        read(.load(conversation: stream.id), for: .load(stream.id))
    }

    /// What the cache has of the conversation.
    func found(_ stream: Stream, _ result: Result<Answer, RequestError>) {
        guard stream.replica?.noteLoaded() == true else { return }
        if stream.state == nil, case .success(.loaded(let loaded)) = result,
            let cached = loaded.cached
        {
            stream.begin(loaded, seen: cached.seen, after: questions.last)
            stream.replica?.adopt(cached, upTo: max(loaded.head.rev, loaded.record.rev))
            stream.needsLast = !stream.holds(last: loaded.lastMessage)
            takeEarly(stream)
        }
        if stream.isToBeAnnounced {
            stream.isToBeAnnounced = false
            emit(.list(stream))
        }
        watch(stream)
        drive(stream)
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
        save(stream)
        stream.replica?.dismissed()
        questions.act(.unsubscribe(stream.id))
        streams[stream.id.id] = nil
        watchful[stream.id.id] = nil
        status.settled(stream.id.id)
    }

    /// The log of the stream is gone, or another one has its name.
    /// - Returns: the calls that waited for it.
    func end(_ stream: Stream) -> [Call] {
        fanout.flush(stream)
        let waiting = stream.waiting
        stream.waiting = []
        dismiss(stream)
        return waiting
    }
}
