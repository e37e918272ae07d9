import Chat
import Ports
import Wire

/// Answers about lists while the origin is away.
extension Lists {
    /// Whether the conversation can be shown, or is known not to be in the user's list.
    func isKnown(_ id: ID, to user: ID, _ follower: ListFollower) -> Bool {
        guard let stream = streams[id], let state = stream.state else {
            return follower.gone.contains(id)
        }
        guard !follower.gone.contains(id) else { return !state.members.contains(user) }
        return stream.reading.readership.activity(at: state.position) != nil
            && stream.reading.readership.state(of: user, at: state.position) != nil
    }

    /// Whether the user's conversations may have changes that this gateway does not know.
    func isOpen(_ user: ID) -> Bool {
        guard sync.isLinked, let follower = followers[user] else { return true }
        return follower.conversations.contains { streams[$0]?.isOpen ?? true }
    }

    // MARK: - Answers

    /// A page of the list; nil if it is unknown.
    func page(
        of user: ID, _ limit: Int, behind text: String?, bytes: Int
    ) -> ConversationList? {
        let cursor = text.flatMap { ActivityCursor($0) }
        guard text == nil || cursor != nil else { return nil }
        return known(to: user)?.page(limit, behind: cursor, bytes: bytes)
    }

    /// The user's list; nil unless all of it is known.
    func known(to user: ID) -> KnownList? {
        guard let follower = followers[user], let reading = follower.known else { return nil }
        var entries: [KnownList.Entry] = []
        entries.reserveCapacity(follower.conversations.count)
        for id in follower.conversations {
            if follower.gone.contains(id) {
                // Removed or added again: either the log or the list is behind.
                guard isKnown(id, to: user, follower) else { return nil }
                continue
            }
            guard let stream = streams[id], let view = stream.known(to: user),
                let activity = stream.reading.readership.activity(at: view.head)
            else { return nil }
            entries.append(
                KnownList.Entry(
                    view, activity: max(activity, view.record.updatedAt.milliseconds)))
        }
        return KnownList(entries, place: reading.place, departed: follower.departed)
    }
}

extension Stream {
    /// The conversation at the stream's position; nil if unknown or not of that one moment, or if
    /// the user does not take part then.
    func known(to user: ID) -> ConversationView? {
        guard let state, state.isOfOneMoment, !entry.needsLast, state.members.contains(user),
            let reader = reading.readership.state(of: user, at: state.position)
        else { return nil }
        return ConversationView(
            record: state.record, lastMessage: state.last, head: state.head, reader: reader)
    }
}

extension Stream {
    /// The participants at the stream's position; nil if unknown or not of that one moment, or if
    /// the user does not take part then.
    func people(_ range: ParticipantsRequest, shownTo user: ID) -> ParticipantList? {
        guard let state, state.isOfOneMoment, state.members.contains(user) else { return nil }
        return reading.readership.people(range, state)
    }
}

extension Stream.State {
    /// Whether nothing above the position is known.
    fileprivate var isOfOneMoment: Bool {
        head.epoch == position.epoch && head.rev == position.rev && record.rev <= position.rev
            && last?.rev ?? 0 <= position.rev
    }
}
