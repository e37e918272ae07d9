/// The order of messages in a list, and which of two values of one message a list keeps.
extension Message: ListedRecord {
    /// Ascending `(seq, id)`, then the messages without a seq, ascending `(createdAt, id)`: those
    /// that are still being sent.
    func stands(before other: Message) -> Bool {
        switch (seq, other.seq) {
        case (let mine?, let theirs?) where mine != theirs: return mine < theirs
        case (.some, nil): return true
        case (nil, .some): return false
        case (nil, nil) where createdAt != other.createdAt: return createdAt < other.createdAt
        default: return id.utf8.lexicographicallyPrecedes(other.id.utf8)
        }
    }

    static func merged(_ arrival: Arrival<Message>, onto held: Message?) -> Message? {
        let arrived = arrival.origin == .deleted ? arrival.record.tombstone : arrival.record
        guard let held else { return arrived }
        let arrives = arrived.replaces(held, as: arrival.origin)
        var kept = arrives ? arrived : held
        // A message keeps a seq once it has one, even if the newer value lacks it.
        kept.seq = kept.seq ?? (arrives ? held : arrived).seq
        return kept
    }

    /// Whether this value replaces `held`, another value of the same message.
    ///
    /// The newest `rev` wins, and a value with a `rev` wins over one without. If neither has one, a
    /// deletion is final, a fetched value replaces, and deltas are compared by the time of the last
    /// edit; an insert never replaces a value of the same age, because an update may overtake the
    /// insert.
    private func replaces(_ held: Message, as origin: Arrival<Message>.Origin) -> Bool {
        switch (rev, held.rev) {
        case (let mine?, let theirs?) where mine == theirs: return origin == .fetched
        case (let mine?, let theirs?): return mine > theirs
        case (.some, nil): return true
        case (nil, .some): return false
        case (nil, nil): break
        }
        if isDeleted != held.isDeleted { return isDeleted }
        if origin == .fetched { return true }
        let age = editedAt ?? createdAt
        let heldAge = held.editedAt ?? held.createdAt
        return age == heldAge ? origin != .inserted : age > heldAge
    }
}
