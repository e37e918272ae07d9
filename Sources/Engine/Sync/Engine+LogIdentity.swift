import Chat
import Ports
import Wire

/// Whether the log that is listened to is the one that a stream knows: another master may go on
/// under the same epoch, another log may have taken the name, or there may be none any more. A
/// failover that lost the end of a log comes to light here.
extension Engine {
    /// Whether it is of the stream's log, or who may be told of it, is not known yet: it waits
    /// until that is.
    func postpone(_ event: FeedEvent, _ head: Head, _ stream: Stream) {
        if stream.early.count < Engine.earlyLimit {
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
        var people: [String] = []
        for user in listings.keys
        where listings[user]?.conversations.remove(stream.id.id) != nil { people.append(user.text) }
        guard let state = stream.state else {
            let waiting = stream.waiting
            stream.waiting = []
            dismiss(stream)
            for call in waiting { fail(call, .noConversation) }
            return unlist(stream.id, people)
        }
        people += state.record.participants
        end(
            stream,
            with: ServerFrame.unsubscribed(conversation: stream.id, reason: .deleted))
        unlist(stream.id, people)
    }

    /// Another log has this name: nothing held of the old one counts.
    func replaced(_ stream: Stream, _ head: Head, _ reason: ResetReason = .replaced) {
        drop(stream)
        let listed = stream.listed
        noteReset(reason, stream.id, stream.subscribers.count)
        end(stream, with: ServerFrame.reset(conversation: stream.id, head: head))
        unlist(stream.id, stream.state?.record.participants ?? [])
        guard listed > 0 else { return }
        // Lists show the new one.
        let successor = self.stream(stream.id)
        successor.listed = listed
        successor.isToBeAnnounced = true
    }
}
