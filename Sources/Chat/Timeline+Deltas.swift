/// How live changes enter a timeline.
extension Timeline {
    /// Applies the changes of one event, or of the answer to a resumed subscription.
    ///
    /// Ignores what lies outside the window: see the type. Also ignores a change of a message that
    /// is neither held nor shown, since a single message in the middle of a hole is of no use; the
    /// page that closes the hole brings it.
    ///
    /// - Parameters:
    ///   - covers: the places that the event proves; nil for those of its messages alone.
    ///   - gaps: the places that are no longer held.
    ///   - head: the newest place given, if known.
    ///   - floor: the oldest place that the origin has.
    ///   - asOf: the number of the newest change at that moment, if pages may come out of order
    ///     with events: a page from before a gap can't close it.
    ///   - from: the oldest place of the window, if it is not held: a fill for a gap below
    ///     everything that is held belongs to the window too.
    public mutating func apply(
        _ deltas: [MessageDelta], covers: Coverage? = nil, gaps: Coverage = Coverage(),
        head: Int? = nil, floor: Int = 1, asOf: Int? = nil, from: Int? = nil
    ) -> Changes {
        let deltas = deltas.filter { $0.message.conversation == conversation }
        var edits = Edits()
        let proven = proven(by: deltas, covers: covers, from: from)
        for delta in deltas {
            countArrival(of: delta)
            let message = delta.message
            let place = place(of: message)
            let isProven = proven.contains(place.number) || coverage.contains(place.number)
            if isProven || entry(of: message.id, edits) != nil {
                take(message, Arrival(message, delta.type).origin, isProven: isProven, &edits)
            }
            if !isProven { changesFrom = max(changesFrom, message.rev ?? 0) }
        }
        hold(proven, without: gaps, floor: floor, &edits)
        if let head { end = max(end, head + 1) }
        for delta in deltas { noteNewest(place(of: delta.message)) }
        if !gaps.isEmpty { changesFrom = max(changesFrom, asOf ?? 0) }
        let changes = commit(edits)
        settleUnread()
        return changes
    }

    /// What the changes prove, clipped to the window.
    private func proven(
        by deltas: [MessageDelta], covers: Coverage?, from: Int?
    ) -> Coverage {
        guard isLoaded else { return Coverage() }
        let given = deltas.map { place(of: $0.message) }.filter(\.isGiven)
        var proven = covers ?? Coverage(places: given.map(\.number))
        for delta in deltas where isStray(delta) {
            let number = place(of: delta.message).number
            proven.remove(number, number)
        }
        let low = min(coverage.first ?? floor, from ?? .max)
        let high = followsEnd ? .max : coverage.last ?? low - 1
        return proven.clipped(low, high)
    }

    /// Whether a change is of a message in a hole that is not even shown.
    private func isStray(_ delta: MessageDelta) -> Bool {
        guard delta.type != .inserted, delta.via ?? .live == .live else { return false }
        let number = place(of: delta.message).number
        let isNew = followsEnd && number >= end
        return !isNew && !coverage.contains(number) && rows.place(of: delta.message.id) == nil
    }
}
