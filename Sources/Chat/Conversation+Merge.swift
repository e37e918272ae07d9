/// How conversations stand in a list, and how two values of one conversation become one: the
/// record, the activity and the reader's part are each taken from whichever value is newer in it.
extension Conversation: ListedRecord {
    /// Latest activity first; of two as late, the smaller id.
    func stands(before other: Conversation) -> Bool {
        let mine = activityAt ?? .earliest
        let theirs = other.activityAt ?? .earliest
        return mine == theirs ? id.utf8.lexicographicallyPrecedes(other.id.utf8) : mine > theirs
    }

    static func merged(_ arrival: Arrival<Conversation>, onto held: Conversation?) -> Conversation?
    {
        var arrived = arrival.record
        if arrival.origin == .deleted {
            // A removal without a number can't be weighed against later news: nothing is kept of
            // it. One with a number stays, to outweigh older news that comes late.
            guard arrived.newestRev != nil else { return held?.isDeleted == true ? held : nil }
            arrived = arrived.tombstone
        }
        if arrival.origin != .fetched {
            // A delta goes to all alike; Skygear even sends the acting user's own counts in it.
            arrived.unreadCount = nil
            arrived.lastReadSeq = nil
        }
        guard let held else { return arrived }
        if let epoch = arrived.head?.epoch, let heldEpoch = held.head?.epoch, epoch != heldEpoch {
            // Another log: numbers do not compare, so what arrived last is what there is.
            return arrived
        }
        if arrived.isDeleted || held.isDeleted { return arrived.outweighing(held) }
        return arrived.joined(with: held)
    }

    /// The one of both that knows of the newest change, where at least one is a removal; of two
    /// that know of the same change, the removal.
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
        return result
    }

    /// How one part of a value compares with the same part of another.
    private enum Age { case older, same, newer }

    private static func compare<Number: Comparable>(_ mine: Number, _ theirs: Number) -> Age {
        mine == theirs ? .same : mine < theirs ? .older : .newer
    }

    /// The record by its `rev`; a record with one is newer than a record without; where neither
    /// has one, by when it changed.
    private func recordAge(against held: Conversation) -> Age {
        if rev == nil, held.rev == nil {
            return Self.compare(updatedAt ?? .earliest, held.updatedAt ?? .earliest)
        }
        return Self.compare(rev ?? 0, held.rev ?? 0)
    }

    /// The activity by its `head`, in the same way; where neither has one, the later of both last
    /// messages, and the newer value of the same one.
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

    /// Whether the reader's part of this value is the newer: a read marker never moves back, and
    /// the count beside it is as of the activity.
    private func readsNewer(than held: Conversation, _ activityAge: Age) -> Bool {
        guard lastReadSeq != nil || unreadCount != nil else { return false }
        guard let mine = lastReadSeq, let theirs = held.lastReadSeq, mine != theirs else {
            return activityAge != .older || held.unreadCount == nil
        }
        return mine > theirs
    }
}
