import Chat
import Ports
import Wire

/// Writes logs that live elsewhere to the cache, and takes its reports about them. A turn's
/// decisions are written in one transaction, before the cache is read again. It moves no stream and
/// asks no origin.
final class ReplicaStore {
    /// The contents of the turn's transaction.
    private var writer: ReplicaWriter
    private let shared: Sync.Shared

    init(_ shared: Sync.Shared) {
        self.shared = shared
        writer = ReplicaWriter(trimAfter: shared.options?.trimAfter, at: shared.clock.now)
    }

    private var now: Timestamp { shared.clock.now }
    private var questions: Questions { shared.questions }

    // MARK: - Values

    /// The value that a message has in the log now.
    /// - Parameter asOf: the change up to which it is the newest value, according to its source.
    func keep(_ message: EncodedMessage, mark: String?, asOf rev: Int, of stream: Stream) {
        guard let replica = stream.replica, replica.copy.takes(valueAsOf: rev) else { return }
        // The trim may drop a newer value, and this one would take its place.
        if replica.copy.trimmedAt != nil, replica.ahead.hasTold(message) { return }
        writer.keep(message, mark: mark, of: stream, after: questions.last)
    }

    /// The value of slot 0.
    /// - Parameter step: the change from the value before it, if known.
    func keep(_ record: Record, mark: String?, step: RecordStep?, of stream: Stream) {
        writer.keep(.record(record, mark: mark, step: step), of: stream)
        // The newest change seen is written with it: after a restart the log must still have that.
        writer.moved(stream)
    }

    /// The position or what is held has changed.
    func moved(_ stream: Stream) { writer.moved(stream) }

    /// The cache has all changes above this one.
    func hasChanges(from rev: Int, of stream: Stream) {
        writer.keep(.changesFrom(conversation: stream.id, rev: rev), of: stream)
    }

    /// The conversation begins in the cache with nothing held.
    func restart(_ stream: Stream, _ record: Record, at head: Head) {
        writer.restart(stream, record, at: head)
    }

    /// The stream skips the changes up to `head`.
    func jump(_ stream: Stream, _ record: Record, to head: Head) {
        writer.jump(stream, record, to: head)
    }

    /// Tries again to write a conversation after the file could not be written.
    func attach(_ stream: Stream) { writer.attach(stream, at: now) }

    /// Nothing held of the conversation counts.
    func drop(_ stream: Stream) {
        writer.drop(stream)
        saveAll()
    }

    // MARK: - Transactions

    /// Writes the stream's position and what is held since the last time.
    func save(_ stream: Stream) { writer.save(stream) { isToBeRead(stream) } }

    private func isToBeRead(_ stream: Stream) -> Bool {
        !stream.waits.calls.isEmpty || questions.isRead(stream.id)
    }

    /// Hands everything decided so far to the shell, to be written.
    func saveAll() {
        writer.saveAll { isToBeRead($0) }
        guard let batch = writer.takeBatch() else { return }
        questions.store(batch.writes, of: batch.streams)
        for stream in writer.takeReloads() { reload(stream) }
    }

    /// Reads the cache, which by then has everything decided before.
    func read(_ query: Query, for purpose: Questions.Purpose) {
        let number = questions.number(for: purpose)
        if shared.options != nil { saveAll() }
        questions.read(query, as: number)
    }

    // MARK: - Results

    /// The cache was asked to trim: asks what it holds now, without a save before that.
    private func reload(_ stream: Stream) {
        guard let replica = stream.replica else { return }
        let number = questions.number(for: .reload(stream, beginning: replica.copy.beginnings))
        questions.read(.load(conversation: stream.id), as: number)
    }

    /// - Parameter beginning: the copy's `beginnings` when the cache was asked.
    func reloaded(
        _ stream: Stream, _ beginning: Int, _ result: Result<Answer, RequestError>
    ) {
        guard shared.streams.has(stream), let state = stream.state,
            let replica = stream.replica, !replica.copy.isDetached,
            replica.copy.beginnings == beginning
        else { return }
        guard case .success(.loaded(let loaded)) = result, let cached = loaded.cached,
            loaded.head.epoch == state.head.epoch
        else { return detach(stream) }
        defer { shared.steps.emit(.wake(stream)) }
        let isCurrent = loaded.head.rev == state.position.rev
        if stream.replica?.copy.reload(cached, isCurrent: isCurrent) == false {
            writer.reloadAgain(stream)
        }
    }

    /// The cache trimmed on its own.
    func trimmed(_ conversation: String, _ result: Result<Answer, RequestError>) {
        guard let stream = shared.streams[conversation.id], let state = stream.state,
            let replica = stream.replica, !replica.copy.isDetached
        else { return }
        guard case .success(.loaded(let loaded)) = result, let cached = loaded.cached,
            loaded.head.epoch == state.head.epoch
        else { return detach(stream) }
        stream.replica?.copy.shrink(to: cached)
        writer.reloadAgain(stream)
        shared.steps.emit(.wake(stream))
    }

    /// The file was written, or could not be.
    func stored(_ number: UInt64, _ succeeded: Bool) {
        guard case .store(let written) = questions.close(number) else { return }
        guard !succeeded else {
            for stream in written { stream.replica?.copy.noteStored() }
            return
        }
        for stream in written.inOrder where shared.streams.has(stream) { detach(stream) }
        // Later writes on top of it, on their way to the shell, must not be done either.
        for later in questions.stores(of: written) { stored(later, false) }
    }

    /// The cached copy of the conversation no longer counts. Subscribers miss nothing: their events
    /// don't depend on it.
    private func detach(_ stream: Stream) {
        guard let since = writer.detach(stream, at: now) else { return }
        stream.replica?.noteAway(since: since)
        shared.steps.watch(stream)
        shared.steps.emit(.wake(stream))
    }
}
