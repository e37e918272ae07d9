import Wire

/// Live changes above a replica's position: the heads after those that don't continue it, and of
/// the places that those who watch were told a value of, the newest rev.
struct ChangesAhead {
    /// Ascending, each once.
    private var heads: [Head] = []
    /// More came than are kept: the end of the chain has to be found by reading on.
    private var hasForgotten = false
    /// A break of the feed takes nothing back of it.
    private var told: [Int: Int] = [:]

    /// Live changes above a hole that are remembered; beyond, their values stay and the position
    /// moves by reading alone. As many places are remembered of what was told; beyond, it is told
    /// again.
    private static let limit = 10_000

    /// Nothing was seen above the position.
    var isEmpty: Bool { heads.isEmpty && !hasForgotten }

    /// Whether those who watch were told of this value above the position, or of a newer one: live,
    /// or by the page that was shown first.
    func hasTold(_ message: EncodedMessage) -> Bool {
        told[message.seq].map { $0 >= message.rev } ?? false
    }

    /// Whether those who watch are still to be told of this value, which the feed has brought. One
    /// that is newer than the change that brought it is not told again with its own.
    /// - Parameter position: where the stream stands now.
    mutating func isToBeTold(_ message: EncodedMessage, at position: Int) -> Bool {
        guard hasTold(message) else {
            if message.rev > position { tell(message) }
            return true
        }
        if let rev = told[message.seq], rev <= position { told[message.seq] = nil }
        return false
    }

    /// Those who watch are told of it.
    mutating func tell(_ message: EncodedMessage) {
        if told.count >= Self.limit { told = [:] }
        told[message.seq] = message.rev
    }

    /// The position has reached what was told up to this change.
    mutating func forgetTold(upTo position: Int) { told = told.filter { $0.value > position } }

    /// Remembers that the change at `head` was seen.
    /// - Returns: whether it is the first time.
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

    /// Takes the seen changes that continue `position`, and gives the last of them.
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

    /// The feed has ended: what was seen of it no longer leads to the present.
    mutating func forgetSeen() {
        heads = []
        hasForgotten = false
    }

    /// Reading on from here finds what was forgotten.
    mutating func readsOn() { hasForgotten = false }
}

extension Array {
    /// The first index whose element, and so every later one, fulfils the condition.
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
