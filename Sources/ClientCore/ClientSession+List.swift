import Chat
import Wire

/// The list of the user's conversations, as the owner of the session asks for it.
extension ClientSession {
    package var list: ConversationList { listing.list }

    /// What somebody has to know who begins to listen to the list, or has fallen behind.
    package var presentList: [ConversationsUpdate] {
        var updates: [ConversationsUpdate] = []
        if list.isLoaded { updates.append(.all(list.conversations)) }
        updates += [.open(list.isOpen), .hasMore(list.hasMore)]
        if let refusal = list.refusal { updates.append(.failed(refusal)) }
        return updates
    }

    /// Takes over what a store has kept.
    package mutating func restore(_ list: ConversationList) { listing.restore(list) }

    /// Subscribes to the list, now and whenever a session begins.
    /// - Parameter isWhole: It is walked to its end, however long it is.
    package mutating func watchList(_ now: Instant, isWhole: Bool = true) {
        listing.watch(isWhole: isWhole, &effects)
    }

    /// Ends that; what is known stays.
    package mutating func unwatchList() { listing.unwatch(&effects) }

    /// Reads on in a list that is longer than what is known of it.
    package mutating func loadMoreOfList() { listing.loadMore(&effects) }

    /// The answer to one's own `markRead`.
    package mutating func marked(
        _ conversation: String, upTo seq: Int, unread: Int, mentions: Int?
    ) {
        listing.confirmRead(
            conversation, upTo: seq, unread: unread, mentions: mentions, &effects)
    }
}
