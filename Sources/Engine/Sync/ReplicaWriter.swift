import Chat
import Ports
import Wire

/// Gathers the turn's writes to the cache of logs that live elsewhere, for one transaction:
/// coverage and position go with their rows. It writes nothing itself; the engine makes effects of
/// what it returns. Owned by the engine.
struct ReplicaWriter {
    /// The contents of one transaction, and the streams that it is about.
    struct Batch {
        let writes: [StoreWrite]
        let streams: [Stream]
    }

    /// Backoff after the file could not be written, in milliseconds.
    private static let pause: Int64 = 1000
    /// How many more messages are written before a trim is delayed no longer: two of the largest
    /// pages.
    private static let longestTrimDelay = 2_000

    private var writes: [StoreWrite] = []
    /// Their streams.
    private var writers: [ID: Stream] = [:]
    /// Streams whose position or coverage is written at the end of the turn.
    private var unsaved: [Stream] = []
    /// Streams whose copy is read anew after the next transaction.
    private var toReload: [Stream] = []
    /// No detached stream is written again before this.
    private var resumesAt: Timestamp
    /// After how many messages a copy is trimmed; nil: never.
    private let trimAfter: Int?

    init(trimAfter: Int?, at now: Timestamp) {
        self.trimAfter = trimAfter
        resumesAt = now
    }

    // MARK: - Input

    mutating func keep(_ write: StoreWrite, of stream: Stream) {
        guard stream.replica?.copy.isDetached == false else { return }
        writes.append(write)
        writers[stream.id.id] = stream
    }

    /// A message that the cache takes.
    /// - Parameter question: the number of the last question asked before.
    mutating func keep(
        _ message: EncodedMessage, mark: String?, of stream: Stream, after question: UInt64
    ) {
        keep(.message(conversation: stream.id, message, mark: mark), of: stream)
        if stream.replica?.copy.noteMessage(at: message.seq, after: question) == true {
            unsaved.append(stream)
        }
    }

    /// The slots are held as of the stream's position.
    mutating func hold(_ places: Coverage, of stream: Stream) {
        if stream.replica?.copy.hold(places) == true { unsaved.append(stream) }
    }

    /// The position or what is held has changed.
    mutating func moved(_ stream: Stream) {
        if stream.replica?.copy.move() == true { unsaved.append(stream) }
    }

    /// Nothing held of the conversation counts.
    mutating func drop(_ stream: Stream) {
        stream.replica?.copy.drop()
        keep(.drop(conversation: stream.id), of: stream)
    }

    /// Writes the stream's position and what is held since the last time.
    /// - Parameter isToBeRead: whether a call waits for slots that were fetched for it, which a
    ///   trim might drop; evaluated only if a trim is due.
    mutating func save(_ stream: Stream, isToBeRead: () -> Bool) {
        guard let unsaved = stream.replica?.copy.takeUnsaved(), let state = stream.state else {
            return
        }
        if !unsaved.places.isEmpty {
            keep(.hold(conversation: stream.id, unsaved.places, asOf: unsaved.asOf), of: stream)
        }
        let isAhead = state.head.rev > state.position.rev
        keep(
            .stand(
                conversation: stream.id, head: state.position, seen: isAhead ? state.head : nil),
            of: stream)
        guard let trimAfter, stream.replica?.copy.hasWritten(trimAfter) == true,
            stream.replica?.copy.hasWritten(trimAfter + Self.longestTrimDelay) == true
                || !isToBeRead()
        else { return }
        stream.replica?.copy.trim(at: state.head.rev)
        keep(.trim(conversation: stream.id), of: stream)
        toReload.append(stream)
    }

    /// What the cache holds is read again after the next transaction.
    mutating func reloadAgain(_ stream: Stream) { toReload.append(stream) }

    /// The conversation begins in the cache with nothing held.
    mutating func restart(_ stream: Stream, _ record: Record, at head: Head) {
        keep(.begin(record, head: head), of: stream)
        // Changes sent on top of a hole, or read beyond it, are not in the file.
        let newest = max(head.rev, stream.state?.head.rev ?? 0)
        stream.replica?.copy.begin(asOf: newest)
        guard newest > head.rev else { return }
        keep(.changesFrom(conversation: stream.id, rev: newest), of: stream)
        // The record may be of the newest change seen: a log that lost this is another branch.
        moved(stream)
    }

    /// The stream skips the changes up to `head`. What the cache holds becomes outdated: it is only
    /// shown until it is fetched again.
    mutating func jump(_ stream: Stream, _ record: Record, to head: Head) {
        // The file may lack changes above that too, if it could not be written when they came.
        let newest = max(head.rev, stream.replica?.copy.changesFrom ?? 0)
        stream.replica?.copy.begin(asOf: newest)
        keep(.jump(conversation: stream.id, record, head: head), of: stream)
        guard newest > head.rev else { return }
        keep(.changesFrom(conversation: stream.id, rev: newest), of: stream)
    }

    // MARK: - The file

    /// The file could not take the stream's writes.
    /// - Returns: since when it could not; nil if that was known.
    mutating func detach(_ stream: Stream, at now: Timestamp) -> Timestamp? {
        let newest = stream.state?.head.rev ?? 0
        guard let since = stream.replica?.copy.detach(at: newest, at: now) else { return nil }
        resumesAt = now.adding(Self.pause)
        return since
    }

    /// Tries again to write a conversation after the file could not be written: it begins at the
    /// present position with nothing held, and what is asked for is fetched again.
    mutating func attach(_ stream: Stream, at now: Timestamp) {
        guard stream.replica?.copy.isDetached == true, let state = stream.state, now >= resumesAt
        else { return }
        stream.replica?.copy.attach()
        restart(stream, state.record, at: state.position)
    }

    // MARK: - Output

    /// Writes the positions of all streams that moved; call it before `takeBatch`.
    mutating func saveAll(isToBeRead: (Stream) -> Bool) {
        for stream in unsaved { save(stream) { isToBeRead(stream) } }
        unsaved.removeAll(keepingCapacity: true)
    }

    /// The contents of the next transaction; nil if there are none.
    mutating func takeBatch() -> Batch? {
        guard !writes.isEmpty else { return nil }
        defer { (writes, writers) = ([], [:]) }
        return Batch(writes: writes, streams: Array(writers.values))
    }

    /// The streams whose copies are to be read after that transaction.
    mutating func takeReloads() -> [Stream] {
        defer { toReload = [] }
        return toReload
    }
}
