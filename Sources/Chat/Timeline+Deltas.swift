/// How live changes get into a timeline.
extension Timeline {
    /// Takes the changes of one event, or of the answer to a resumed subscription.
    ///
    /// What lies outside of the window is not taken: see the type. A change of a message that is
    /// neither held nor shown is not taken either, since a single message in the midst of a hole
    /// helps nobody; the page that closes the hole brings it.
    ///
    /// - Parameters:
    ///   - covers: the places that the event proves; nil for those of its messages alone.
    ///   - gaps: the places that are held no more.
    ///   - head: the newest place given, if that was said.
    ///   - floor: the oldest place that the origin has.
    ///   - asOf: the number of the newest change at that moment, if pages may come out of order
    ///     with events: a page from before a gap can't close it.
    ///   - from: the oldest place of the window, if that is not held: what heals a gap below
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
            let isProven = proven.contains(place) || covered.contains(place)
            if isProven || entry(of: message.id, edits) != nil {
                take(message, Arrival(message, delta.type).origin, isProven: isProven, &edits)
            }
            if !isProven { changesFrom = max(changesFrom, message.rev ?? 0) }
        }
        hold(proven, without: gaps, floor: floor, &edits)
        if let head, numbering != .unnumbered { end = max(end, .number(head + 1)) }
        for delta in deltas { noteNewest(place(of: delta.message)) }
        if !gaps.isEmpty { changesFrom = max(changesFrom, asOf ?? 0) }
        let changes = commit(edits)
        settleUnread()
        return changes
    }

    /// The feed is broken: of a list without numbers, nothing that comes from here on follows what
    /// is held. Numbered lists need no such word, their events say what they prove.
    public mutating func breakFeed() {
        isFed = false
        if numbering == .unnumbered { covered.remove(end, .end) }
    }

    /// The feed is whole again: what comes from here on follows one upon the other. Read what was
    /// missed only after this, or it will be missed for good.
    public mutating func resumeFeed() { isFed = true }

    /// What the changes prove, cut to the window.
    private func proven(
        by deltas: [MessageDelta], covers: Coverage?, from: Int?
    ) -> Spans {
        guard isLoaded else { return Spans() }
        var proven = Spans()
        if let covers, numbering != .unnumbered {
            proven = Spans(covers)
        } else {
            for delta in deltas {
                let place = place(of: delta.message)
                guard numbering == .unnumbered || place.number != .max else { continue }
                // While a feed is whole, what comes next follows what came before.
                let isNews = isFed && followsEnd && .before(place) >= end
                let isChained = isNews && numbering == .unnumbered
                proven.insert(.before(place), isChained ? .end : .behind(place))
            }
        }
        for delta in deltas where isStray(delta) {
            let place = place(of: delta.message)
            proven.remove(.before(place), .behind(place))
        }
        let low = covered.low ?? floor
        let high = followsEnd ? .end : covered.high ?? low
        return proven.clipped(from.map { min(low, .number($0)) } ?? low, high)
    }

    /// Whether a change is of a message in a hole, that is not even shown.
    private func isStray(_ delta: MessageDelta) -> Bool {
        guard delta.type != .inserted, delta.via ?? .live == .live else { return false }
        let place = place(of: delta.message)
        let isNew = followsEnd && .before(place) >= end
        return !isNew && !covered.contains(place) && places[RecordKey(delta.message.id)] == nil
    }
}
