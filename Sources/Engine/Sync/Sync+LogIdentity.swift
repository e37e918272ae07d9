import Chat
import Ports
import Wire

/// Whether the log that is listened to is the one that a stream knows: another master may go on
/// under the same epoch, another log may have taken the name, or there may be none any more. A
/// failover that lost the end of a log comes to light here.
extension Sync {
    /// Whether it is of the stream's log, or who may be told of it, is not known yet: it waits
    /// until that is.
    func postpone(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        if stream.early.count < Self.earlyLimit {
            stream.early.append(event)
        } else {
            _ = stream.replica?.expects(head.rev)
        }
    }

    /// Takes the events that waited until the membership was known up to them.
    func takePostponed(_ stream: Stream) {
        guard !stream.early.isEmpty, let replica = stream.replica, replica.isConfirmed else {
            return
        }
        let isDue = stream.early.contains { event in
            event.isRecord || event.head.map { replica.knowsMembers(before: $0.rev) } ?? true
        }
        if isDue { takeEarly(stream) }
    }

    /// What came while the stream was being loaded, or before it was known to be of its log.
    func takeEarly(_ stream: Stream) {
        let early = stream.early
        guard let epoch = stream.state?.head.epoch else { return }
        // One question answers all that speak of another log, or of the end of this one.
        let own = early.filter { $0.head?.epoch == epoch }
        let others = early.filter { $0.head?.epoch != epoch }
        stream.early = own
        if doubt(stream, told: Set(others.compactMap(\.epoch))) { return }
        stream.early = []
        // Whatever order they came in, each follows what it stands on.
        for event in own.sorted(by: { $0.head?.rev ?? 0 < $1.head?.rev ?? 0 }) {
            guard let head = event.head, streams.has(stream) else { continue }
            follow(event, head, stream)
        }
    }

    /// Events that wait; beyond, their changes are read.
    private static let earlyLimit = 1000

    /// The feed has told of other logs of this name, or that the one that the stream knows has
    /// ended. What is late is passed over.
    /// - Returns: whether the origin is asked which of them counts.
    @discardableResult
    func doubt(_ stream: Stream, told epochs: Set<String>) -> Bool {
        let own = stream.state?.head.epoch
        guard stream.replica?.identity.suspect(epochs, own: own) == true else { return false }
        doubt(stream)
        return true
    }

    /// The log may not be the one that the stream knows.
    func doubt(_ stream: Stream) {
        stream.readership = Readership()
        guard stream.replica?.doubted(at: now) == true else { return }
        tellOpen(stream)
        watch(stream)
        drive(stream)
    }

    /// The log is the one that the stream knows: what the feed has told of it meanwhile counts.
    func confirm(_ stream: Stream) {
        guard stream.replica?.identity.confirm() == true else { return }
        takeEarly(stream)
    }

    /// The origin has no such conversation.
    func vanished(_ stream: Stream) {
        let isAnother = stream.early.contains { event in
            event.head.map { $0.epoch != stream.state?.head.epoch } ?? false
        }
        if isAnother {
            // The feed has told of a log that has the name now. What it told was before the
            // question that follows.
            stream.early = []
            stream.replica?.asksAgain(isKnown: stream.state != nil)
            return
        }
        drop(stream)
        emit(.vanished(stream, end(stream)))
    }

    /// Another log has this name: nothing held of the old one counts.
    func replaced(_ stream: Stream, _ head: Head, _ reason: ResetReason = .replaced) {
        drop(stream)
        tally.noteReset(reason, stream.id, stream.subscribers.count)
        emit(.replaced(stream, head, end(stream)))
    }
}
