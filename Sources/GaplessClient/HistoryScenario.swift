import Chat

/// How a conversation is opened, by what its record says. The guards exclude each other: exactly
/// one scenario fits. 3 and 4 (scrolling), 5 (coming back) and 6 (jumping) are not ways of opening.
public enum HistoryScenario: Sendable, Hashable {
    /// 1: there are messages above the last one seen: show that place, with a banner below it.
    case unread(lastSeen: Int)
    /// 2: everything was seen: show the end.
    case seen
    /// 7: the last message lies below the last one seen, which can't be: move to its time.
    case lastMessageBeforeLastSeen(Timestamp)
    /// Never opened: begin at the first message.
    case neverOpened
    /// There are no messages.
    case empty

    /// The scenario of a conversation.
    /// - Parameters:
    ///   - lastSeen: The place up to which the reader has read; nil or 0 for nothing.
    ///   - lastMessage: The place of the newest message; 0 for none.
    ///   - lastMessageTime: When that was written.
    public init(lastSeen: Int?, lastMessage: Int, lastMessageTime: Timestamp?) {
        let seen = lastSeen ?? 0
        if lastMessage == 0 {
            self = .empty
        } else if seen == 0 {
            self = .neverOpened
        } else if lastMessage > seen {
            self = .unread(lastSeen: seen)
        } else if lastMessage == seen {
            self = .seen
        } else {
            self = .lastMessageBeforeLastSeen(lastMessageTime ?? .latest)
        }
    }

    /// The scenario of a conversation as a reply gave it, with the reader's own part.
    public init(_ conversation: Conversation) {
        self.init(
            lastSeen: conversation.lastReadSeq,
            lastMessage: conversation.head?.seq ?? conversation.lastMessage?.seq ?? 0,
            lastMessageTime: conversation.lastMessage?.createdAt)
    }
}
