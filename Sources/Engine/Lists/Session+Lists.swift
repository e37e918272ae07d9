import Chat
import Ports
import Wire

/// What a connection was shown of its user's list, so that no event behind it says less.
extension Session {
    /// Whether an answer told of a change of the same log that stands above this head.
    func wasShown(_ conversation: ID, beyond head: Head) -> Bool {
        shown[conversation].map { $0.epoch == head.epoch && $0.rev > head.rev } ?? false
    }

    /// Whether an answer told more than an event of a stream that is behind.
    func isAhead(of event: Broadcast) -> Bool {
        shown[event.conversation].map(event.shows(before:)) ?? false
    }

    /// What the session is shown now need not be told to it as an event again.
    /// - Parameter isListed: the conversation is known to be in the list.
    func noteShown(_ conversation: ID, _ head: Head, isListed: Bool, _ stream: Stream?) {
        heldListEvents.removeAll { $0.conversation == conversation && $0.shows(head) }
        let isAnnounced = stream.map { $0.state != nil && !$0.isListed && !$0.isOpen } ?? false
        if !isListed || !isAnnounced { shown[conversation] = head }
    }
}
