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

    /// The feed broke: in a list without numbers, later messages do not follow what is held. A
    /// numbered list does not need this call, since its events say what they prove.
    public mutating func breakFeed() {
        isFed = false
        if numbering == .unnumbered { covered.remove(end, .end) }
    }

    /// The feed is whole again: each message follows the one before it. Fetch what was missed only
    /// after this call, or it stays missing.
    public mutating func resumeFeed() { isFed = true }

    /// What the changes prove, clipped to the window.
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
                // While a feed is whole, each new message follows the one before it.
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

    /// Whether a change is of a message in a hole that is not even shown.
    private func isStray(_ delta: MessageDelta) -> Bool {
        guard delta.type != .inserted, delta.via ?? .live == .live else { return false }
        let place = place(of: delta.message)
        let isNew = followsEnd && .before(place) >= end
        return !isNew && !covered.contains(place) && rows.place(of: delta.message.id) == nil
    }
}
