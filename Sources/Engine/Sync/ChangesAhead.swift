import Wire

/// Live changes above a replica's position: the heads after those that don't continue it, and per
/// slot the newest rev that subscribers were sent.
struct ChangesAhead {
    /// Ascending, without duplicates.
    private var heads: [Head] = []
    /// More came than are kept: the end of the chain must be found by reading on.
    private var hasForgotten = false
    /// Newest rev sent, by slot; still true after a break of the feed.
    private var told: [Int: Int] = [:]

    /// Limit of remembered heads, and of sent slots. Beyond it values still count, but the position
    /// moves only by reading, and values may be sent twice.
    private static let limit = 10_000

    /// No change above the position was seen.
    var isEmpty: Bool { heads.isEmpty && !hasForgotten }

    /// Whether subscribers were sent this value above the position, or a newer one: live, or in the
    /// page that was shown first.
    func hasTold(_ message: EncodedMessage) -> Bool {
        told[message.seq].map { $0 >= message.rev } ?? false
    }

    /// Whether subscribers still need this value from the feed. A value newer than the change that
    /// brought it is not sent again with its own change.
    /// - Parameter position: of the stream now.
    mutating func isToBeTold(_ message: EncodedMessage, at position: Int) -> Bool {
        guard hasTold(message) else {
            if message.rev > position { tell(message) }
            return true
        }
        if let rev = told[message.seq], rev <= position { told[message.seq] = nil }
        return false
    }

    /// Records that subscribers are sent this value.
    mutating func tell(_ message: EncodedMessage) {
        if told.count >= Self.limit { told = [:] }
        told[message.seq] = message.rev
    }

    /// The position reached this change.
    mutating func forgetTold(upTo position: Int) { told = told.filter { $0.value > position } }

    /// Remembers that the change at `head` was seen.
    /// - Returns: whether for the first time.
    mutating func see(_ head: Head) -> Bool {
        let at = heads.partitioning { $0.rev >= head.rev }
        if at < heads.count, heads[at].rev == head.rev { return false }
        if heads.count < Self.limit {
            heads.insert(head, at: at)
        } else {
            hasForgotten = true
        }
        return true
    }

    /// The last of the seen changes that continue `position`.
    func reach(after position: Head) -> Head {
        var position = position
        for head in heads where head.rev == position.rev + 1 { position = head }
        return position
    }

    /// Removes the seen changes that continue `position`, and returns the last of them.
    mutating func absorb(after position: Head) -> Head {
        var position = position
        var count = 0
        for head in heads {
            guard head.rev <= position.rev + 1 else { break }
            if head.rev > position.rev { position = head }
            count += 1
        }
        heads.removeFirst(count)
        return position
    }

    /// The feed ended: changes seen on it no longer lead to the present.
    mutating func forgetSeen() {
        heads = []
        hasForgotten = false
    }

    /// The chain is read on from here, which finds the forgotten changes.
    mutating func readsOn() { hasForgotten = false }
}

extension Array {
    /// The first index whose element, like every later one, meets the condition.
    fileprivate func partitioning(_ condition: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
