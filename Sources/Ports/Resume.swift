import Chat
import Wire

/// The answer to a subscription, by `protocol.md` 4: a pure function of what the subscriber holds
/// and what was read. After it the holder's `have` is exactly true.
package struct Resume: Sendable, Hashable {
    package var deltas: [EncodedDelta]
    package var covers: Coverage
    package var gaps: [Gap]
    package var asOf: Int
    package var isReset: Bool
    /// The subscriber's coverage after applying all of the above.
    package var held: Coverage
    /// Slots that the gateway is missing, and sends once it has them: gaps of cause `upstream`.
    package var owed = Coverage()
    /// The boundaries of `held`, if they are encoded already.
    package var boundaries: [UInt8]?

    /// Gaps of cause `limit` are merged into at most this many: `protocol.md` 4.
    package static let gapLimit = 16

    /// For a holder of nothing: the latest messages. Older ones are no gap: they are below the
    /// oldest run.
    /// - Parameters:
    ///   - tail: the latest messages that there are, newest first.
    ///   - bytes: what the messages may take together; older ones are left out.
    ///   - limit: how many messages were asked for.
    package init(
        latest tail: [EncodedMessage], position: StreamPosition, bytes: Int, isReset: Bool = false,
        limit: Int
    ) {
        let head = position.head
        // At least one: messages below the oldest delta are no gap, so without any delta the holder
        // would not learn that it is missing the latest message.
        let fitting = max(Self.prefix(of: tail, within: bytes), min(1, tail.count))
        deltas = tail.prefix(fitting).map { EncodedDelta(.inserted, .cache, $0) }
        // Up to the head: above the newest message read there is either none, or a gap.
        let oldest =
            fitting > 0 ? tail[fitting - 1].seq : max(head.floor, head.seq - limit + 1)
        let span = Coverage.closed(max(oldest, head.floor), head.seq)
        covers = span.intersection(position.held ?? span)
        owed = span.subtracting(covers).coarsened(to: Self.gapLimit)
        gaps = position.gaps(owed, .upstream)
        asOf = position.asOf
        self.isReset = isReset
        held = covers.subtracting(owed)
    }

    /// For a holder whose log was confirmed.
    /// - Parameters:
    ///   - have: what it holds.
    ///   - read: what it is missing, as of the stream's position.
    ///   - bytes: what the messages may take together.
    package init(have: Have, read: CatchUp, position: StreamPosition, bytes: Int) {
        let head = position.head
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
        if let held = position.held {
            covers = covers.intersection(held.union(Coverage(places: changed.map(\.seq))))
        }

        // Left out: changes that the holder does not get, and new messages above its runs.
        var missing = read.outdated.intersection(runs)
        for message in read.changed.dropFirst(changedCount) {
            missing.insert(message.seq, message.seq)
        }
        missing = missing.subtracting(covers)
        let above = max(have.runs.clipped(1, head.seq).last ?? 0, head.floor - 1)
        let new = Coverage.closed(above + 1, head.seq).subtracting(covers)
        // Of the new messages, those that the gateway is missing are sent when it has them.
        let lacking = new.subtracting(position.held ?? new).coarsened(to: Self.gapLimit / 2)
        owed = lacking
        missing = missing.union(new).subtracting(lacking)
            .coarsened(
                to: position.held == nil ? Self.gapLimit : Self.gapLimit / 2, sparing: covers)
        owed = owed.subtracting(missing)

        // The holder's own holes are named as they are, except where a merged gap covers them.
        let told = missing.union(owed)
        // A delta inside a merged gap is useless.
        deltas.removeAll { told.contains($0.message.seq) }
        covers = covers.subtracting(told)
        let cold = runs.holes.subtracting(covers).subtracting(told)
        gaps =
            position.gaps(missing, .limit) + position.gaps(owed, .upstream)
            + position.gaps(cold, .cold)
        if let first = have.runs.first, first < head.floor {
            gaps.append(
                Gap(
                    after: 0, before: head.floor, missing: head.floor - 1, cause: .trimmed,
                    since: position.now))
        }
        gaps.sort { $0.after < $1.after }
        asOf = position.asOf
        isReset = false
        held = runs.union(covers).subtracting(told)
        // A holder that comes from another gateway may be ahead of this one, and keeps what it has
        // above this head.
        if let top = have.runs.last, top > head.seq {
            held = held.union(have.runs.clipped(head.seq + 1, top))
        }
    }

    /// The same, found at another moment. A plan has no gaps of the gateway's own, whose `since` is
    /// older.
    func found(at now: Timestamp) -> Resume {
        var resume = self
        for at in resume.gaps.indices { resume.gaps[at].since = now }
        return resume
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
