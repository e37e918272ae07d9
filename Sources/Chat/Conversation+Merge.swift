/// The order of conversations in a list, and how two values of one conversation are merged: the
/// record, the activity and the reader's part are each taken from the value in which they are
/// newer.
extension Conversation: ListedRecord {
    /// Latest activity first; at equal times, the smaller id first.
    func stands(before other: Conversation) -> Bool {
        let mine = activityAt ?? .earliest
        let theirs = other.activityAt ?? .earliest
        return mine == theirs ? id.utf8.lexicographicallyPrecedes(other.id.utf8) : mine > theirs
    }

    static func merged(_ arrival: Arrival<Conversation>, onto held: Conversation?) -> Conversation?
    {
        var arrived = arrival.record
        if arrival.origin == .deleted {
            // A removal without a rev can't be compared with later changes, so nothing is kept of
            // it. One with a rev stays as a tombstone and outweighs older changes that arrive late.
            guard arrived.newestRev != nil else { return held?.isDeleted == true ? held : nil }
            arrived = arrived.tombstone
        }
        if arrival.origin != .fetched {
            // Every participant gets the same delta, so it can't carry one reader's counts; Skygear
            // even sends the acting user's own.
            arrived.unreadCount = nil
            arrived.unreadMentions = nil
            arrived.lastReadSeq = nil
        }
        guard let held else { return arrived }
        if let epoch = arrived.head?.epoch, let heldEpoch = held.head?.epoch, epoch != heldEpoch {
            // Another log: revs do not compare, so the last value to arrive wins.
            return arrived
        }
        if arrived.isDeleted || held.isDeleted { return arrived.outweighing(held) }
        return arrived.joined(with: held)
    }

    /// The value that knows the newer change, where at least one is a removal; at the same change,
    /// the removal.
    private func outweighing(_ held: Conversation) -> Conversation {
        let mine = newestRev ?? 0
        let theirs = held.newestRev ?? 0
        if mine == theirs { return isDeleted ? self : held }
        return mine > theirs ? self : held
    }

    private func joined(with held: Conversation) -> Conversation {
        let recordAge = self.recordAge(against: held)
        var result = recordAge == .older ? held : self
        if recordAge == .same { result.participants = participants ?? held.participants }

        let activityAge = self.activityAge(against: held)
        let active = activityAge == .older ? held : self
        result.lastMessage = active.lastMessage
        result.head = active.head
        if activityAge == .same { result.lastMessage = lastMessage ?? held.lastMessage }

        let reader = readsNewer(than: held, activityAge) ? self : held
        result.lastReadSeq = reader.lastReadSeq
        result.unreadCount = reader.unreadCount
        result.unreadMentions = reader.unreadMentions
        return result
    }

    /// The age of one part of a value, compared with the same part of another value.
    private enum Age { case older, same, newer }

    private static func compare<Number: Comparable>(_ mine: Number, _ theirs: Number) -> Age {
        mine == theirs ? .same : mine < theirs ? .older : .newer
    }

    /// Compares records by `rev`; a record with a rev is newer than one without. If neither has
    /// one, compares `updatedAt`.
    private func recordAge(against held: Conversation) -> Age {
        if rev == nil, held.rev == nil {
            return Self.compare(updatedAt ?? .earliest, held.updatedAt ?? .earliest)
        }
        return Self.compare(rev ?? 0, held.rev ?? 0)
    }

    /// Compares the activity by `head`, in the same way. If neither has a head, the later last
    /// message wins, and of the same message the newer value.
    private func activityAge(against held: Conversation) -> Age {
        if head != nil || held.head != nil {
            return Self.compare(head?.rev ?? -1, held.head?.rev ?? -1)
        }
        guard let lastMessage, let heldMessage = held.lastMessage else {
            return lastMessage == nil && held.lastMessage == nil
                ? .same : lastMessage == nil ? .older : .newer
        }
        if lastMessage.id == heldMessage.id {
            let kept = Message.merged(Arrival(lastMessage, .fetched), onto: heldMessage)
            return kept == heldMessage ? .older : .newer
        }
        return lastMessage.stands(before: heldMessage) ? .older : .newer
    }

    /// Whether this value has the newer reader's part: a read marker never moves back, and the
    /// count beside it is as of the activity.
    private func readsNewer(than held: Conversation, _ activityAge: Age) -> Bool {
        guard lastReadSeq != nil || unreadCount != nil else { return false }
        guard let mine = lastReadSeq, let theirs = held.lastReadSeq, mine != theirs else {
            return activityAge != .older || held.unreadCount == nil
        }
        return mine > theirs
    }
}
