import Chat
import Ports
import Wire

/// What the cache is told to keep, and what it answers. What a turn decides is written in one
/// transaction, before anything is read from the cache.
extension Engine {
    /// The value of a message at a place that the log has now.
    /// - Parameter asOf: the change up to which it is the newest value, by what brought it.
    func keep(_ message: EncodedMessage, mark: String?, asOf rev: Int, of stream: Stream) {
        guard let replica = stream.replica, replica.copy.takes(valueAsOf: rev) else { return }
        // A newer value may be what the cache drops, and this one would take its place.
        if replica.copy.trimmedAt != nil, replica.ahead.hasTold(message) { return }
        writer.keep(message, mark: mark, of: stream, after: nextToken)
    }

    /// Nothing that is held of the conversation counts.
    func drop(_ stream: Stream) {
        writer.drop(stream)
        saveWrites()
    }

    /// Writes where the stream stands and what is held since the last time.
    func save(_ stream: Stream) { writer.save(stream) { isToBeRead(stream) } }

    private func isToBeRead(_ stream: Stream) -> Bool {
        !stream.waiting.isEmpty
            || pending.values.contains {
                switch $0 {
                case .answer(let call), .shown(let call):
                    call.request.conversation?.isSameID(stream.id) ?? false
                case .load, .refresh, .boundaries, .write, .store, .reload, .place, .proof,
                    .unread, .fetch:
                    false
                }
            }
    }

    /// Has the shell write what was decided so far.
    func saveWrites() {
        writer.saveAll { isToBeRead($0) }
        guard let batch = writer.takeBatch() else { return }
        store(batch.writes, for: .store(batch.streams))
        for stream in writer.takeReloads() { reload(stream) }
    }

    /// The cache has dropped what it need not keep, and is asked for what it holds now.
    func reload(_ stream: Stream) {
        guard let replica = stream.replica else { return }
        readAtOnce(
            .load(conversation: stream.id),
            for: .reload(stream, beginning: replica.copy.beginnings))
    }

    /// - Parameter beginning: how often what is held had begun anew when the cache was asked.
    func reloaded(
        _ stream: Stream, _ beginning: Int, _ result: Result<Answer, RequestError>
    ) {
        guard streams[stream.id.id] === stream, let state = stream.state,
            let replica = stream.replica, !replica.copy.isDetached,
            replica.copy.beginnings == beginning
        else { return }
        guard case .success(.loaded(let loaded)) = result, let cached = loaded.cached,
            loaded.head.epoch == state.head.epoch
        else { return detach(stream) }
        defer { wake(stream) }
        let isCurrent = loaded.head.rev == state.position.rev
        if stream.replica?.copy.reload(cached, isCurrent: isCurrent) == false {
            writer.reloadAgain(stream)
        }
    }

    /// The cache has dropped something by itself.
    package func trimmed(
        _ conversation: String, _ result: Result<Answer, RequestError>, at now: Timestamp
    ) {
        self.now = now
        guard let stream = streams[conversation.id], let replica = stream.replica else { return }
        reloaded(stream, replica.copy.beginnings, result)
    }

    /// The file has taken what it was told, or has not.
    package func stored(_ token: UInt64, _ succeeded: Bool, at now: Timestamp) {
        self.now = now
        guard case .store(let streams) = pending.removeValue(forKey: token) else { return }
        guard !succeeded else {
            for stream in streams { stream.replica?.copy.noteStored() }
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
        guard let since = writer.detach(stream, at: now) else { return }
        stream.replica?.noteAway(since: since)
        watch(stream)
        wake(stream)
    }
}
