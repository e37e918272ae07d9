import Chat
import Ports
import Wire

/// How the link to an origin that lives elsewhere comes and goes: what it acknowledges, when it
/// breaks, and what clients are told of it.
extension Engine {
    /// Whether the streams mirror logs that live elsewhere.
    var mirrors: Bool { sync != nil }

    /// The upstream's link is up, or is not.
    package func linked(_ state: UpstreamState, at now: Timestamp) {
        self.now = now
        guard mirrors else { return }
        status.linked(state == .online, at: now)
        if isLinked {
            // What could not be asked before can be now.
            for stream in inOrder(watchful.values) where stream.replica?.backoff.isWaiting == true {
                stream.replica?.backoff.retry()
                drive(stream)
            }
            readListsAgain()
        } else {
            for stream in inOrder(watchful.values) { wake(stream) }
        }
        tellUpstream()
    }

    /// The origin has acknowledged: from here on the feed tells of this conversation.
    package func subscribed(_ conversation: String, generation: Int, at now: Timestamp) {
        self.now = now
        guard let stream = streams[conversation.id], stream.replica != nil else { return }
        stream.followedSince = listReadings
        let wasLive = stream.replica?.isLive ?? false
        stream.replica?.acknowledged(generation: generation, isKnown: stream.state != nil)
        if wasLive { tellOpen(stream) }
        stream.early = []
        stream.readership = Readership()
        drive(stream)
    }

    /// Every subscription of that generation has ended.
    package func lapsed(generation: Int, at now: Timestamp) {
        self.now = now
        for stream in inOrder(streams.values)
        where stream.replica?.generation == generation {
            flush(stream)
            stream.replica?.lapsed(at: now)
            stream.early = []
            if !stream.subscribers.isEmpty || stream.listed > 0 {
                status.fellBehind(stream.id.id)
            }
            watch(stream)
            wake(stream)
        }
        doubtUnread()
        tellUpstream()
    }

    /// A table's order is another one in each process; a simulation's must not be.
    func inOrder(_ streams: some Collection<Stream>) -> [Stream] {
        streams.sorted { $0.id < $1.id }
    }

    // MARK: - What clients are told

    /// Tells clients if they see the upstream in another state.
    func tellUpstream() {
        guard status.change(at: now) else { return }
        // What the streams still have to say was said under the old state.
        for stream in pacing.takeAll() { flush(stream); announce(stream) }
        let event = Broadcast(ServerFrame.upstream(state: status.state, since: now), .upstream)
        for session in sessions.values.sorted(by: { $0.id < $1.id }) where session.user != nil {
            push(session, event)
        }
    }

    /// The upstream's link is up.
    var isLinked: Bool { status.isLinked }

    /// Since when the upstream's link is down, from the start on; nil while it is up, and where the
    /// store is the origin.
    package var unlinkedSince: Timestamp? { status.unlinkedSince }

    /// Whether the link had time to come up once: right after the start its absence says nothing.
    var hasGivenTime: Bool { status.hasGivenTime(at: now) }

    // MARK: - Time

    /// The stream has something that time decides.
    func watch(_ stream: Stream) { watchful[stream.id.id] = stream }

    /// Looks at what waits for a moment; called by `tick`.
    func tickReplicas() {
        guard let sync else { return }
        for stream in inOrder(watchful.values) { look(at: stream, sync) }
        if now >= nextVerification {
            nextVerification = now.adding(sync.verifyInterval)
            let live = streams.values.filter {
                $0.replica?.isLive == true && (!$0.subscribers.isEmpty || $0.listed > 0)
            }
            fetches.compareHeads(of: inOrder(live))
        }
        readListsInTime()
        tellUpstream()
    }

    private func look(at stream: Stream, _ sync: SyncOptions) {
        guard streams[stream.id.id] === stream, let replica = stream.replica else {
            watchful[stream.id.id] = nil
            return
        }
        stream.replica?.backoff.retry(at: now)
        if stream.replica?.givesUpHole(at: now, grace: sync.gapGrace) == true { tellOpen(stream) }
        if replica.copy.isDetached { writer.attach(stream, at: now) }
        drive(stream)
        if stream.needsLast, stream.replica?.backoff.isWaiting == false { list(stream) }
        if stream.waiting.contains(where: { $0.deadline.map { $0 <= now } ?? false }) {
            wake(stream)
        }
        releaseHeldReplies(stream)
        if let replica = stream.replica, replica.isLive, !replica.backoff.isWaiting,
            replica.holeSince == nil, !replica.copy.isDetached, !replica.isOwed,
            stream.waiting.isEmpty,
            stream.heldReplies.isEmpty,
            !stream.needsLast || listWatchers.isEmpty && stream.readership.isEmpty
        {
            watchful[stream.id.id] = nil
        }
    }

    // MARK: - The life of a mirrored stream

    /// Begins to mirror a conversation: the cache is asked for it, and the origin for its feed.
    func begin(_ stream: Stream) {
        stream.replica = Replica(at: now)
        act(.subscribe(stream.id))
        read(.load(conversation: stream.id), for: .load(stream.id))
    }

    /// Streams that nobody has watched for a while are given up; the cache keeps what it has.
    func dropIdleReplicas(_ sync: SyncOptions) {
        for stream in inOrder(streams.values) {
            guard stream.isIdle, stream.replica?.inFlight.isEmpty ?? true else {
                stream.lastUsed = now
                continue
            }
            if now >= stream.lastUsed.adding(sync.linger) { dismiss(stream) }
        }
    }

    /// Takes the stream out of memory and its conversation out of the feed.
    func dismiss(_ stream: Stream) {
        save(stream)
        stream.replica?.dismissed()
        act(.unsubscribe(stream.id))
        streams[stream.id.id] = nil
        watchful[stream.id.id] = nil
        status.settled(stream.id.id)
    }
}
