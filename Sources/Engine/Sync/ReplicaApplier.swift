import Chat
import Ports
import Wire

/// Applies what is known of a log that lives elsewhere to its stream: values, the record, the
/// position and the floor. Notifies subscribers, has the cache keep it, and emits steps for the
/// rest of the engine. Its input is known to be of this log; it asks nobody.
final class ReplicaApplier {
    /// The upstream's state as clients see it.
    var status: UpstreamStatus
    private let store: ReplicaStore
    private let shared: Sync.Shared

    init(_ shared: Sync.Shared, _ store: ReplicaStore) {
        self.shared = shared
        self.store = store
        status = UpstreamStatus(wait: shared.options?.wait, at: shared.clock.now)
    }

    private var now: Timestamp { shared.clock.now }
    private var fanout: Fanout { shared.fanout }

    private func emit(_ step: Sync.Step) { shared.steps.emit(step) }

    // MARK: - Values

    /// A live change that may be sent.
    func apply(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        switch event {
        case .message(_, let type, let message, _, _):
            // The log may have trimmed it since.
            guard message.seq >= stream.state?.head.floor ?? 1 else {
                return fanout.touch(stream)
            }
            // A feed that reads what it reports may bring a newer value than the change's own.
            let mark = message.rev == head.rev ? head.mark : nil
            store.keep(message, mark: mark, asOf: head.rev, of: stream)
            emit(.changed(stream, message, rev: head.rev, mark: head.mark))
            if event.isToldToLists { emit(.list(stream)) }
            // A feed that is out of order, or reads what it reports, may have brought a newer
            // value.
            let position = stream.state?.position.rev ?? 0
            guard stream.replica?.ahead.isToBeTold(message, at: position) == true else { return }
            stream.updateLast(message)
            fanout.tell(type, .live, message, stream)
        case .record(let record, _, _, _, _, _):
            take(record, mark: record.rev == head.rev ? head.mark : nil, by: event, stream)
            // An earlier change may have brought this value; lists show the head as well.
            emit(.list(stream))
        case .deleted, .read, .listed, .typing:
            break
        }
    }

    /// A message has a new value, for subscribers and lists.
    func tell(_ type: DeltaType, _ via: Via, _ message: EncodedMessage, _ stream: Stream) {
        stream.updateLast(message)
        emit(.changed(stream, message, rev: message.rev, mark: nil))
        emit(.list(stream))
        fanout.tell(type, via, message, stream)
    }

    /// Applies slot 0, unless a newer value of it is known.
    /// - Parameter event: of the feed that brought it, if one did.
    func take(_ record: Record, mark: String?, by event: FeedEvent? = nil, _ stream: Stream) {
        guard let known = stream.state?.record, known.rev < record.rev else { return }
        let step = event?.step(since: known.rev)
        let record = step.map { known.followed(by: record, $0) } ?? record
        store.keep(record, mark: mark, step: step, of: stream)
        // The change that removed a user may lie in a hole below this one.
        let gone = stream.take(record, step, isNew: event?.isBeginning ?? false)
            .union((event?.removed ?? []).map(\.id)).map(\.text).sorted()
        emit(.changed(stream, nil, rev: record.rev, mark: mark))
        emit(.list(stream))
        emit(.removed(stream, fanout.remove(gone, from: stream)))
        fanout.tell(record, stream)
        emit(.left(stream, users: gone))
    }

    /// Applies the newest record as of `head` (nil if the stream has it), before any message of the
    /// same answer is sent: a message may follow a removal, and the part of the chain with that
    /// removal may come much later.
    func learnMembers(_ record: Record?, asOf head: Head, _ stream: Stream) {
        raiseFloor(stream, to: head.floor)
        note(head, stream)
        if let record {
            fanout.flush(stream)
            take(record, mark: nil, stream)
        }
    }

    // MARK: - Position

    /// The stream's position rises to `head`.
    func raisePosition(of stream: Stream, to head: Head) {
        guard let state = stream.state else { return }
        stream.state?.position = head
        stream.state?.position.floor = max(head.floor, state.head.floor)
        stream.replica?.identity.reached(head)
        note(head, stream)
        store.moved(stream)
        fanout.touch(stream)
    }

    /// Values were taken from the log as of `head`. Floors only rise, whatever comes late.
    func note(_ head: Head, _ stream: Stream) {
        guard let known = stream.state?.head, head.rev >= known.rev else { return }
        stream.state?.head = head
        stream.state?.head.floor = max(head.floor, known.floor)
    }

    /// To be called only with the floor of a head that is noted, or was: the floor of a head that
    /// a failover lost would hide messages which the log still has.
    func raiseFloor(_ stream: Stream, to floor: Int) {
        guard let state = stream.state, floor > state.head.floor else { return }
        stream.state?.head.floor = floor
        stream.state?.position.floor = floor
        stream.replica?.copy.raiseFloor(to: floor)
        if let last = state.last, last.seq < floor {
            stream.state?.last = nil
            stream.entry.needsLast = true
            emit(.list(stream))
        }
        // Trimmed slots are owed to nobody.
        stream.paid(Coverage.closed(1, floor - 1))
        store.moved(stream)
    }

    /// The log has changes up to `rev`: the feed gets a moment to bring the missing ones.
    func expect(_ rev: Int, _ stream: Stream) {
        guard rev > stream.state?.position.rev ?? 0 else { return }
        guard stream.replica?.expects(rev, at: now) == true else { return }
        shared.steps.watch(stream)
    }

    /// The stream has taken no change above its position. If no other change was mentioned, it is
    /// at the present; otherwise there is a hole that the feed may still close.
    func settle(_ stream: Stream) {
        guard let position = stream.state?.position, stream.replica?.generation != nil else {
            return
        }
        emit(.release(stream))
        if stream.waits.isReached(by: position.rev) { emit(.wake(stream)) }
        switch stream.replica?.arrived(at: position.rev, at: now) {
        case .reading, .live, nil: return
        case .hole: return shared.steps.watch(stream)
        case .present: break
        }
        fanout.touch(stream)
        stream.entry.arrivedAt = status.arrived(stream.id.id)
        emit(.list(stream))
        emit(.wake(stream))
    }

    /// Sends subscribers `open`: there may be changes that this gateway does not know.
    func tellOpen(_ stream: Stream) {
        emit(.opened(stream))
        fanout.tellOpen(stream)
    }
}

extension Record {
    /// The next record, which does not name every participant, completed with the names: the cache
    /// can begin only with a complete one.
    fileprivate func followed(by next: Record, _ step: RecordStep) -> Record {
        var next = next
        next.unnamed = 0
        next.participants = participants
        for user in step.removed {
            guard let at = next.participants.firstIndex(where: user.isSameID) else { continue }
            next.participants.remove(at: at)
        }
        next.participants += step.joined
        return next
    }
}
