import Chat
import Ports
import Wire

/// Follows the feed of logs that live elsewhere: live changes join the known chain, lie on top of a
/// hole, or wait. Another master may go on under the same epoch, another log may take the name, or
/// the log may be gone: a failover that lost the end of a log shows here, and so does a damaged
/// log.
extension Sync {
    /// A live change of a replica.
    func follow(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        guard let state = stream.state, let replica = stream.replica,
            replica.generation != nil
        else { return }
        guard replica.isConfirmed else { return postpone(event, head, stream) }
        // Another log has this name now, or had it: the origin is asked, once.
        guard head.epoch == state.head.epoch else {
            doubt(stream, told: [head.epoch])
            return
        }
        // The chain has brought the changes up to here, or will bring what changed again.
        guard head.rev > max(state.position.rev, replica.readTo?.rev ?? 0) else { return }
        // The hole below may hold a removal. A complete record says itself who takes part.
        guard
            event.namesEverybody
                || replica.knowsMembers(before: head.rev) && event.follows(state.record)
        else {
            postpone(event, head, stream)
            return applier.expect(head.rev, stream)
        }
        tally.noteChange()
        // Message changes before the record in the log are sent before it.
        if case .record = event { fanout.flush(stream) }
        if replica.isLive, head.rev == state.position.rev + 1 {
            applier.raiseFloor(stream, to: head.floor)
            streams.remember(event.message, from: state.position, to: head, stream)
            applier.stand(stream, at: head)
            stream.replica?.followed(to: head.rev)
            applier.apply(event, head, stream)
            emit(.release(stream))
            return takePostponed(stream)
        }
        guard stream.replica?.ahead.see(head) == true else { return }
        stream.replica?.fellBehind(at: now)
        applier.raiseFloor(stream, to: head.floor)
        applier.note(head, stream)
        stream.replica?.knowMembers(upTo: head.rev)
        applier.apply(event, head, stream)
        if stream.replica?.next == nil { applier.join(stream) }
        takePostponed(stream)
    }

    // MARK: - Postponed events

    /// The event waits until it is known whether it is of the stream's log and who may be sent it.
    func postpone(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        if stream.waits.events.count < Self.earlyLimit {
            stream.waits.events.append(event)
        } else {
            _ = stream.replica?.expects(head.rev)
        }
    }

    /// Takes the waiting events that the known membership now covers.
    func takePostponed(_ stream: Stream) {
        guard !stream.waits.events.isEmpty, let replica = stream.replica, replica.isConfirmed else {
            return
        }
        let isDue = stream.waits.events.contains { event in
            event.namesEverybody || event.head.map { replica.knowsMembers(before: $0.rev) } ?? true
        }
        if isDue { takeEarly(stream) }
    }

    /// Takes the events that came while the stream was loading, or was not confirmed to be of its
    /// log.
    func takeEarly(_ stream: Stream) {
        let early = stream.waits.events
        guard let epoch = stream.state?.head.epoch else { return }
        // One question answers all events about other logs or the end of this one.
        let own = early.filter { $0.head?.epoch == epoch }
        let others = early.filter { $0.head?.epoch != epoch }
        stream.waits.events = own
        if doubt(stream, told: Set(others.compactMap(\.epoch))) { return }
        stream.waits.events = []
        // In log order, whatever order they came in.
        for event in own.sorted(by: { $0.head?.rev ?? 0 < $1.head?.rev ?? 0 }) {
            guard let head = event.head, streams.has(stream) else { continue }
            follow(event, head, stream)
        }
    }

    /// Limit of waiting events; beyond it, changes are read.
    private static let earlyLimit = 1000

    /// The feed reported other logs of this name, or the end of the stream's one. Late events are
    /// ignored.
    /// - Returns: whether the origin is asked which log counts.
    @discardableResult
    func doubt(_ stream: Stream, told epochs: Set<String>) -> Bool {
        let own = stream.state?.head.epoch
        guard stream.replica?.identity.suspect(epochs, own: own) == true else { return false }
        doubt(stream)
        return true
    }

    /// The log may not be the one that the stream knows.
    func doubt(_ stream: Stream) {
        stream.reading.readership = Readership()
        guard stream.replica?.doubted(at: now) == true else { return }
        applier.tellOpen(stream)
        watch(stream)
        fetcher.drive(stream)
    }

    /// An answer of the origin showed the conversation as of this head. A stream at the end of its
    /// feed may be of another log, or have missed something.
    func compare(_ head: Head, _ stream: Stream) {
        guard let state = stream.state, stream.replica?.isLive == true else { return }
        if head.epoch == state.head.epoch {
            applier.expect(head.rev, stream)
        } else {
            doubt(stream)
        }
    }

    /// The log is the one that the stream knows: the feed's events about it count.
    func confirm(_ stream: Stream) {
        guard stream.replica?.identity.confirm() == true else { return }
        takeEarly(stream)
    }

    /// The origin has no such conversation.
    func vanished(_ stream: Stream) {
        let isAnother = stream.waits.events.contains { event in
            event.head.map { $0.epoch != stream.state?.head.epoch } ?? false
        }
        if isAnother {
            // The feed reported a log that has the name now. Those events came before the question
            // that follows.
            stream.waits.events = []
            stream.replica?.asksAgain(isKnown: stream.state != nil)
            return
        }
        if stream.state == nil, stream.entry.isReported {
            stream.entry.isReported = false
            stream.replica?.asksAgain(isKnown: false)
            return
        }
        store.drop(stream)
        emit(.vanished(stream, end(stream)))
    }

    /// Another log has this name: nothing held of the old one counts.
    func replaced(_ stream: Stream, _ head: Head, _ reason: ResetReason = .replaced) {
        store.drop(stream)
        tally.noteReset(reason, stream.id, stream.subscribers.count)
        emit(.replaced(stream, head, end(stream)))
    }

    // MARK: - Damage

    /// The origin found this part of the log damaged, or (nil) whole again.
    func heard(_ part: String?, of conversation: String) {
        guard let stream = streams[conversation.id], stream.replica != nil else { return }
        if let part {
            damaged(stream, part)
        } else if stream.replica?.backoff.damagedPart != nil {
            stream.replica?.backoff.retry()
            fetcher.drive(stream)
        }
    }

    /// Subscribers are sent `open`, and waiting calls are answered with what is held.
    func damaged(_ stream: Stream, _ part: String) {
        guard let replica = stream.replica, replica.backoff.damagedPart != part else { return }
        stream.replica?.backoff.damage(part)
        stream.reading.readership = Readership()
        if replica.isLive {
            fanout.flush(stream)
            _ = stream.replica?.doubted(at: now)
            applier.tellOpen(stream)
        }
        fetcher.fallBack(stream)
        emit(.wake(stream))
    }
}

extension FeedEvent {
    /// Whether the number of participants adds up if `known` is the record before it.
    fileprivate func follows(_ known: Record) -> Bool {
        guard case .record(let record, _, let removed, let joined, _) = self,
            !record.namesEverybody, record.rev > known.rev
        else { return true }
        return known.participantCount - removed.count + joined.count == record.participantCount
    }
}
