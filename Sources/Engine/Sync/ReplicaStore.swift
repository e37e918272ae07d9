import Chat
import Ports
import Wire

/// What the cache is told to keep of logs that live elsewhere, and what it says of them. What a
/// turn decides is written in one transaction, before anything is read from the cache. It moves no
/// stream and asks no origin.
final class ReplicaStore {
    /// What goes into the turn's transaction.
    private var writer: ReplicaWriter
    private let shared: Sync.Shared

    init(_ shared: Sync.Shared) {
        self.shared = shared
        writer = ReplicaWriter(trimAfter: shared.options?.trimAfter, at: shared.clock.now)
    }

    private var now: Timestamp { shared.clock.now }
    private var questions: Questions { shared.questions }

    // MARK: - What it keeps

    /// The value of a message at a place that the log has now.
    /// - Parameter asOf: the change up to which it is the newest value, by what brought it.
    func keep(_ message: EncodedMessage, mark: String?, asOf rev: Int, of stream: Stream) {
        guard let replica = stream.replica, replica.copy.takes(valueAsOf: rev) else { return }
        // A newer value may be what the cache drops, and this one would take its place.
        if replica.copy.trimmedAt != nil, replica.ahead.hasTold(message) { return }
        writer.keep(message, mark: mark, of: stream, after: questions.last)
    }

    /// The value of slot 0.
    /// - Parameter step: how it came out of the one before it, where that is known.
    func keep(_ record: Record, mark: String?, step: RecordStep?, of stream: Stream) {
        writer.keep(.record(record, mark: mark, step: step), of: stream)
        // With it goes up to where the log was seen: it must have that yet after a restart.
        writer.moved(stream)
    }

    /// The position or what is held has changed.
    func moved(_ stream: Stream) { writer.moved(stream) }

    /// Above this change all that changed is kept.
    func hasChanges(from rev: Int, of stream: Stream) {
        writer.keep(.changesFrom(conversation: stream.id, rev: rev), of: stream)
    }

    /// The conversation begins in the cache with nothing held.
    func restart(_ stream: Stream, _ record: Record, at head: Head) {
        writer.restart(stream, record, at: head)
    }

    /// The stream leaves out what changed up to `head`.
    func jump(_ stream: Stream, _ record: Record, to head: Head) {
        writer.jump(stream, record, to: head)
    }

    /// Tries to write a conversation anew whose file could not be written.
    func attach(_ stream: Stream) { writer.attach(stream, at: now) }

    /// Nothing that is held of the conversation counts.
    func drop(_ stream: Stream) {
        writer.drop(stream)
        saveAll()
    }

    // MARK: - When it writes

    /// Writes where the stream stands and what is held since the last time.
    func save(_ stream: Stream) { writer.save(stream) { isToBeRead(stream) } }

    private func isToBeRead(_ stream: Stream) -> Bool {
        !stream.waits.calls.isEmpty || questions.isRead(stream.id)
    }

    /// Has the shell write what was decided so far.
    func saveAll() {
        writer.saveAll { isToBeRead($0) }
        guard let batch = writer.takeBatch() else { return }
        questions.store(batch.writes, of: batch.streams)
        for stream in writer.takeReloads() { reload(stream) }
    }

    /// Asks the cache, which has all by then that was decided before.
    func read(_ query: Query, for purpose: Questions.Purpose) {
        let number = questions.number(for: purpose)
        if shared.options != nil { saveAll() }
        questions.read(query, as: number)
    }

    // MARK: - What it says

    /// The cache has dropped what it need not keep, and is asked for what it holds now, whatever
    /// waits to be written.
    private func reload(_ stream: Stream) {
        guard let replica = stream.replica else { return }
        let number = questions.number(for: .reload(stream, beginning: replica.copy.beginnings))
        questions.read(.load(conversation: stream.id), as: number)
    }

    /// - Parameter beginning: how often what is held had begun anew when the cache was asked.
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

    /// The cache has dropped something by itself.
    func trimmed(_ conversation: String, _ result: Result<Answer, RequestError>) {
        guard let stream = shared.streams[conversation.id], let replica = stream.replica else {
            return
        }
        reloaded(stream, replica.copy.beginnings, result)
    }

    /// The file has taken what it was told, or has not.
    func stored(_ number: UInt64, _ succeeded: Bool) {
        guard case .store(let written) = questions.close(number) else { return }
        guard !succeeded else {
            for stream in written { stream.replica?.copy.noteStored() }
            return
        }
        for stream in written.inOrder where shared.streams.has(stream) { detach(stream) }
        // What was decided on top of it, and is on its way to the shell, must not be done either.
        for later in questions.stores(of: written) { stored(later, false) }
    }

    /// What the file says of the conversation no longer counts. Those who watch miss nothing: they
    /// were told, and are told.
    private func detach(_ stream: Stream) {
        guard let since = writer.detach(stream, at: now) else { return }
        stream.replica?.noteAway(since: since)
        shared.steps.watch(stream)
        shared.steps.emit(.wake(stream))
    }
}
