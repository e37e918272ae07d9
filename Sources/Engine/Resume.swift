import Chat
import Wire

/// What a subscriber is told at the beginning: `protocol.md` 4, as a pure function of what it holds
/// and of what was read. After it the holder's `have` is true, exactly.
package struct Resume: Sendable, Hashable {
    package var deltas: [EncodedDelta]
    package var covers: Coverage
    package var gaps: [Gap]
    package var asOf: Int
    package var isReset: Bool
    /// What the subscriber holds once it has applied all of the above.
    package var held: Coverage

    /// Gaps of cause `limit` are joined to at most this many: `protocol.md` 4.
    static let gapLimit = 16

    /// For a holder of nothing: the latest messages. What is older is no gap, it lies below the
    /// oldest run.
    /// - Parameters:
    ///   - tail: the latest messages, newest first, without a hole between them.
    ///   - bytes: what the messages may take together; what does not fit is left below.
    package init(latest tail: [EncodedMessage], head: Head, bytes: Int, isReset: Bool = false) {
        // One in any case: what is older than the oldest delta is no gap, so with none at all the
        // holder would take the latest message for one that it need not have.
        let fitting = max(Self.prefix(of: tail, within: bytes), min(1, tail.count))
        deltas = tail.prefix(fitting).map { EncodedDelta(.inserted, .cache, $0) }
        covers = Coverage()
        if let newest = tail.first, fitting > 0 {
            // Nothing above the newest message read: it is the head's.
            covers.insert(tail[fitting - 1].seq, newest.seq)
        }
        gaps = []
        asOf = head.rev
        self.isReset = isReset
        held = covers
    }

    /// For a holder whose log was confirmed.
    /// - Parameters:
    ///   - have: what it holds.
    ///   - read: what it lacks, read at `read.head`; the stream stands there.
    ///   - bytes: what the messages may take together.
    package init(have: Have, read: CatchUp, bytes: Int, at now: Timestamp) {
        let head = read.head
        let runs = have.runs.clipped(max(1, head.floor), head.seq)
        let changedCount = Self.prefix(of: read.changed, within: bytes)
        let changed = read.changed.prefix(changedCount)
        let left = bytes - changed.reduce(0) { $0 + $1.json.count }
        let complete = changedCount == read.changed.count
        let tailCount = complete ? Self.prefix(of: read.tail, within: left) : 0
        let tail = read.tail.prefix(tailCount)

        deltas = changed.map { EncodedDelta($0.isDeleted ? .deleted : .updated, .replay, $0) }
        deltas += tail.map { EncodedDelta(.inserted, .replay, $0) }

        covers = Coverage(places: changed.map(\.seq))
        if let newest = tail.first, let oldest = tail.last { covers.insert(oldest.seq, newest.seq) }

        // What did not fit: changes that the holder does not get, and what is new above its runs.
        var missing = read.outdated.intersection(runs)
        for message in read.changed.dropFirst(changedCount) {
            missing.insert(message.seq, message.seq)
        }
        missing = missing.subtracting(covers)
        let above = max(have.runs.clipped(1, head.seq).last ?? 0, head.floor - 1)
        missing.insert(above + 1, (tail.last?.seq ?? head.seq + 1) - 1)
        missing = missing.coarsened(to: Self.gapLimit)

        // Holes that it had stay as they are, but for what a joined gap already names.
        let cold = runs.holes.subtracting(covers).subtracting(missing)
        gaps = Self.gaps(missing, .limit, now) + Self.gaps(cold, .cold, now)
        if let first = have.runs.first, first < head.floor {
            gaps.append(
                Gap(
                    after: 0, before: head.floor, missing: head.floor - 1, cause: .trimmed,
                    since: now))
        }
        gaps.sort { $0.after < $1.after }
        asOf = head.rev
        isReset = false
        held = runs.union(covers).subtracting(missing)
    }

    private static func gaps(_ coverage: Coverage, _ cause: GapCause, _ since: Timestamp) -> [Gap] {
        coverage.runs.map {
            Gap(
                after: $0.low - 1, before: $0.high + 1, missing: $0.count, cause: cause,
                since: since)
        }
    }

    /// How many of the messages fit into `bytes`.
    private static func prefix(of messages: some Collection<EncodedMessage>, within bytes: Int)
        -> Int
    {
        var left = bytes
        var count = 0
        for message in messages {
            left -= message.json.count
            if left < 0 { break }
            count += 1
        }
        return count
    }
}
