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
        take(event, head, stream)
        takePostponed(stream)
    }

    /// Takes a live change if it continues the newest one taken; otherwise it waits, or is known.
    private func take(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        guard let state = stream.state, let replica = stream.replica,
            replica.generation != nil
        else { return }
        // While the chain is asked for, the answer proves what was known before the question.
        guard replica.isConfirmed, !replica.isAskingForChain else {
            return postpone(event, head, stream)
        }
        // Another log has this name now, or had it: the origin is asked, once.
        guard head.epoch == state.head.epoch else {
            doubt(stream, told: [head.epoch])
            return
        }
        guard !contradicts(event, head, stream) else { return lostItsEnd(stream) }
        // It was taken, or the chain will bring what changed again. But a change that nobody here
        // knows may also be of a log that was put back.
        guard head.rev > state.head.rev else {
            if replica.isLive, stream.mark(at: head.rev) == nil {
                fetcher.compareHeads(of: [stream])
            }
            return
        }
        // In the hole below may be a removal, or the end of the branch that is known.
        guard head.rev == state.head.rev + 1 else {
            postpone(event, head, stream)
            return applier.expect(head.rev, stream)
        }
        tally.noteChange()
        // Message changes before the record in the log are sent before it.
        if case .record = event { fanout.flush(stream) }
        applier.raiseFloor(stream, to: head.floor)
        if state.position.rev == state.head.rev {
            streams.remember(event.message, from: state.position, to: head, stream)
            applier.raisePosition(of: stream, to: head)
            applier.apply(event, head, stream)
            if !event.isToldToLists, let now = stream.state {
                stream.entry.skip(to: now, from: state.last?.rev)
            }
            applier.settle(stream)
        } else {
            applier.note(head, stream)
            applier.apply(event, head, stream)
        }
    }

    // MARK: - Another branch

    /// Whether the event can't be of the log that the stream knows: at its change, or at the one
    /// before, the stream knows another mark.
    private func contradicts(_ event: FeedEvent, _ head: Head, _ stream: Stream) -> Bool {
        if let mark = stream.mark(at: head.rev), mark != head.mark { return true }
        guard let after = event.after, let mark = stream.mark(at: head.rev - 1) else {
            return false
        }
        return mark != after
    }

    /// The log contradicts what this gateway had of it: the origin is asked which branch counts.
    func lostItsEnd(_ stream: Stream) {
        emit(.branched)
        doubt(stream)
    }

    // MARK: - Postponed events

    /// The event waits until it is known whether it is of the stream's log and who may be sent it.
    func postpone(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        if stream.waits.events.count < Self.earlyLimit {
            stream.waits.events.append(event)
        } else {
            applier.expect(head.rev, stream)
        }
    }

    /// Takes the waiting events that continue what was taken now.
    func takePostponed(_ stream: Stream) {
        guard !stream.waits.events.isEmpty, stream.replica?.isConfirmed == true,
            let newest = stream.state?.head
        else { return }
        let isDue = stream.waits.events.contains { event in
            guard let head = event.head, head.epoch == newest.epoch, head.rev > newest.rev else {
                return true
            }
            return head.rev == newest.rev + 1
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
            guard let head = event.head, streams.has(stream), stream.replica?.isConfirmed == true
            else { return }
            take(event, head, stream)
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
        compareAnew(stream)
    }

    /// Whether the stream is at the present is asked again; the feed is the one that it was.
    func compareAnew(_ stream: Stream) {
        guard stream.replica?.doubted(at: now, isKnown: stream.state != nil) == true else {
            return
        }
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

    /// The origin acknowledged a write: its log has changes up to that one. A stream below it no
    /// longer stands at the present.
    func acknowledged(_ written: Written) {
        guard let stream = streams[written.conversation.id], stream.replica != nil else { return }
        guard let known = stream.state?.head.epoch else {
            // Of which log it is shows when the stream begins. Answers overtake each other.
            let rev = stream.replica?.acknowledged[written.head.epoch] ?? 0
            stream.replica?.acknowledged[written.head.epoch] = max(rev, written.head.rev)
            return
        }
        if known == written.head.epoch {
            applier.expect(written.head.rev, stream)
        } else {
            // What was asked before may be answered by the log before.
            doubt(stream)
        }
    }

    /// The stream has begun: writes that were acknowledged before are in its log, or in another
    /// one.
    func takeAcknowledged(_ stream: Stream) {
        guard let revs = stream.replica?.acknowledged, let epoch = stream.state?.head.epoch,
            !revs.isEmpty
        else { return }
        stream.replica?.acknowledged = [:]
        if let rev = revs[epoch] { applier.expect(rev, stream) }
        if revs.keys.contains(where: { $0 != epoch }) { doubt(stream) }
    }

    /// The log is the one that the stream knows: the feed's events about it count.
    func confirm(_ stream: Stream) { stream.replica?.identity.confirm() }

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
        emit(.branched)
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
