import Chat
import Ports
import Wire

/// What the cache is told to keep. What a turn decides is written in one transaction, before
/// anything is read from the cache; coverage and position go with the rows that they speak of.
extension Engine {
    func keep(_ write: StoreWrite, of stream: Stream) {
        guard let mirror = stream.mirror, !mirror.isDetached else { return }
        writes.append(write)
        writers[stream.id.id] = stream
    }

    /// The value of a message at a place that the log has now.
    /// - Parameter asOf: the change up to which it is the newest value, by what brought it. What
    ///   the cache leaves out may be newer than a value of before that.
    func keep(_ message: EncodedMessage, mark: String?, asOf rev: Int, of stream: Stream) {
        guard let mirror = stream.mirror, !mirror.isDetached, rev >= mirror.changesFrom else {
            return
        }
        // A newer value may be what the cache drops, and this one would take its place.
        if mirror.trimmedAt != nil, mirror.hasTold(message) { return }
        keep(.message(conversation: stream.id, message, mark: mark), of: stream)
        stream.mirror?.lastChange = nextToken
        hold(Coverage(message.seq, message.seq), of: stream)
        stream.mirror?.written = mirror.written + 1
    }

    /// The places are held as of the stream's position.
    func hold(_ places: Coverage, of stream: Stream) {
        guard let mirror = stream.mirror, !mirror.isDetached, !places.isEmpty else { return }
        stream.mirror?.held = mirror.held.union(places)
        stream.mirror?.unsaved = mirror.unsaved.union(places)
        moved(stream)
    }

    /// The position or what is held has changed.
    func moved(_ stream: Stream) {
        guard let mirror = stream.mirror, !mirror.isDetached, !mirror.isUnsaved else { return }
        stream.mirror?.isUnsaved = true
        unsaved.append(stream)
    }

    /// Nothing that is held of the conversation counts.
    func drop(_ stream: Stream) {
        stream.mirror?.isUnsaved = false
        stream.mirror?.unsaved = Coverage()
        keep(.drop(conversation: stream.id), of: stream)
        saveWrites()
    }

    /// Writes where the stream stands and what is held since the last time.
    func save(_ stream: Stream) {
        guard let mirror = stream.mirror, mirror.isUnsaved else { return }
        stream.mirror?.isUnsaved = false
        stream.mirror?.unsaved = Coverage()
        guard let state = stream.state else { return }
        if !mirror.unsaved.isEmpty {
            keep(
                .hold(conversation: stream.id, mirror.unsaved, asOf: mirror.runsAsOf), of: stream)
        }
        let isAhead = state.head.rev > state.position.rev
        keep(
            .stand(
                conversation: stream.id, head: state.position, seen: isAhead ? state.head : nil),
            of: stream)
        trim(stream)
    }

    /// Has the cache drop what it need not keep; not while somebody waits for places that were
    /// brought for it, which may be just those.
    private func trim(_ stream: Stream) {
        guard let trimAfter = sync?.trimAfter, let written = stream.mirror?.written,
            written >= trimAfter,
            written >= trimAfter + Engine.longestTrimDelay || !isToBeRead(stream)
        else { return }
        stream.mirror?.written = 0
        stream.mirror?.trimmedAt = stream.state?.head.rev
        stream.mirror?.deepening = nil
        keep(.trim(conversation: stream.id), of: stream)
        toReload.append(stream)
    }

    /// How many messages more are written before a trim is put off no longer: two of the largest
    /// pages.
    private static let longestTrimDelay = 2_000

    private func isToBeRead(_ stream: Stream) -> Bool {
        !stream.waiting.isEmpty
            || pending.values.contains {
                switch $0 {
                case .answer(let call), .shown(let call):
                    call.request.conversation?.isSameID(stream.id) ?? false
                default: false
                }
            }
    }

    /// Has the shell write what was decided so far.
    func saveWrites() {
        for stream in unsaved { save(stream) }
        unsaved.removeAll(keepingCapacity: true)
        guard !writes.isEmpty else { return }
        let action = Action.store(
            token: token(for: .store(Array(writers.values))), writes)
        writes = []
        writers = [:]
        append(action)
        let reloads = toReload
        toReload = []
        for stream in reloads { reload(stream) }
    }

    /// The cache has dropped what it need not keep, and is asked for what it holds now.
    func reload(_ stream: Stream) {
        guard let mirror = stream.mirror else { return }
        append(
            .read(
                token: token(for: .reload(stream, beginning: mirror.beginnings)),
                .load(conversation: stream.id)))
    }

    /// - Parameter beginning: how often what is held had begun anew when the cache was asked.
    func reloaded(
        _ stream: Stream, _ beginning: Int, _ result: Result<Answer, RequestError>
    ) {
        guard streams[stream.id.id] === stream, let state = stream.state,
            let mirror = stream.mirror, !mirror.isDetached, mirror.beginnings == beginning
        else { return }
        guard case .success(.loaded(let loaded)) = result, let cached = loaded.cached,
            loaded.head.epoch == state.head.epoch
        else { return detach(stream) }
        defer { wake(stream) }
        stream.mirror?.trimmedAt = nil
        stream.mirror?.deepening = nil
        guard loaded.head.rev == state.position.rev, stream.mirror?.isUnsaved == false else {
            // Read before a change that the stream has taken since. What it says is gone is gone;
            // what came since is held too.
            stream.mirror?.held = mirror.held.intersection(cached.standing.union(mirror.unsaved))
            stream.mirror?.changesFrom = max(mirror.changesFrom, cached.changesFrom)
            return toReload.append(stream)
        }
        stream.mirror?.adopt(cached)
    }

    /// The cache has dropped something by itself.
    package func trimmed(
        _ conversation: String, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        guard let stream = streams[conversation.id], let mirror = stream.mirror else { return }
        reloaded(stream, mirror.beginnings, result)
    }

    /// The file has taken what it was told, or has not.
    package func stored(_ token: UInt64, _ succeeded: Bool, at now: Timestamp) {
        self.now = now
        guard case .store(let streams) = pending.removeValue(forKey: token) else { return }
        guard !succeeded else {
            for stream in streams where stream.mirror?.isDetached == false {
                stream.mirror?.unstoredSince = nil
            }
            return
        }
        for stream in inOrder(streams) where self.streams[stream.id.id] === stream {
            detach(stream)
        }
        // What was decided on top of it, and is on its way to the shell, must not be done either.
        let later = pending.keys.filter { later in
            guard case .store(let others) = pending[later] else { return false }
            return others.contains { other in streams.contains { $0 === other } }
        }
        for later in later.sorted() { stored(later, false, at: now) }
    }

    /// What the file says of the conversation no longer counts. Those who watch miss nothing: they
    /// were told, and are told.
    private func detach(_ stream: Stream) {
        guard stream.mirror?.isDetached == false else { return }
        stream.mirror?.isDetached = true
        stream.mirror?.holdNothing(asOf: stream.state?.head.rev ?? 0)
        stream.mirror?.isUnsaved = false
        // What can't be stored is not a new gap each time that it is tried again.
        let since = stream.mirror?.unstoredSince ?? now
        stream.mirror?.unstoredSince = since
        stream.mirror?.awaySince = since
        nextAttachment = now.adding(1000)
        watch(stream)
        wake(stream)
    }

    /// Tries to write a conversation anew whose file could not be written: it begins at the present
    /// position, with nothing held. What is then asked for is fetched again.
    func attach(_ stream: Stream) {
        guard stream.mirror?.isDetached == true, let state = stream.state,
            now >= nextAttachment
        else { return }
        stream.mirror?.isDetached = false
        restart(stream, state.record, at: state.position)
    }

    /// The conversation begins in the cache with nothing held.
    func restart(_ stream: Stream, _ record: Record, at head: Head) {
        keep(.begin(record, head: head), of: stream)
        // What was told on top of a hole, or read beyond it, is not in the file.
        let newest = max(head.rev, stream.state?.head.rev ?? 0)
        stream.mirror?.holdNothing(asOf: newest)
        guard newest > head.rev else { return }
        keep(.changesFrom(conversation: stream.id, rev: newest), of: stream)
    }

    /// The stream leaves out what changed up to `head`. What the cache holds is outdated by it, and
    /// serves only to be shown until it is fetched again.
    func jump(_ stream: Stream, _ record: Record, to head: Head) {
        stream.mirror?.holdNothing(asOf: head.rev)
        keep(.jump(conversation: stream.id, record, head: head), of: stream)
    }
}
