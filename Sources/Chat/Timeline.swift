/// The part of one conversation that a view shows: messages in order, and their holes.
///
/// Pages and deltas go in, in the order in which they came; out come the list, its runs, its gaps,
/// and after each step the smallest set of changes for a view. It is a plain value without clock or
/// thread; its owner (a session, a data source) fetches the pages.
///
/// **What is held.** The timeline knows which places it holds and shows exactly the messages there,
/// each with a value that the log had. Beside them it may show messages that it does not hold: from
/// a cached answer, from the answer to a send, one that is still being sent, or one that a gap took
/// away. `isHeld(at:)` tells them apart; a page or delta that covers their place replaces them.
///
/// **The window.** A timeline begins with a page and grows by pages that join it. Live messages
/// extend it only if it *follows the end*, that is, if it was loaded up to there and not trimmed
/// since: while a reader is far up in the history, new messages are only counted. Nothing below its
/// oldest run is a gap; that is history which nobody has fetched yet.
///
/// **Numbering.** Where messages have a seq, coverage says which of them are held, as in
/// `protocol.md` 1. A list without numbers is ordered by `(createdAt, id)`; there only messages
/// join that one page returned together, or that a page returned next to its anchor.
///
/// - Complexity: one delta costs microseconds, however long the list; a page of k messages k times
///   that; each also costs one step per run.
public struct Timeline: Sendable {
    /// How an origin numbers its messages.
    public enum Numbering: String, Sendable, Hashable, CaseIterable {
        /// 1, 2, 3, … and a deleted message keeps its number.
        case dense
        /// The numbers rise, with holes that mean nothing.
        case ordered
        /// There are none: order is that of `(createdAt, id)`.
        case unnumbered
    }

    /// Whether there is more at each end of a page or of a timeline.
    public struct HasMore: Sendable, Hashable {
        /// Older messages.
        public var before: Bool
        /// Newer messages.
        public var after: Bool

        /// Whether there is more on either side.
        public init(before: Bool, after: Bool) {
            self.before = before
            self.after = after
        }
    }

    /// A message in the list.
    struct Entry: BlockElement {
        var message: Message
        var place: Place
        var isHeld: Bool
        var isUnread: Bool

        var sum: BlockSum { BlockSum(count: 1, unread: isUnread ? 1 : 0) }
    }

    /// The id of the conversation; pages of others are ignored.
    public let conversation: String
    /// How its messages are numbered.
    public let numbering: Numbering
    /// Rises with each `reset`; a page that was requested in an earlier generation is ignored.
    public internal(set) var generation = 0
    /// Whether a page has come since the start or the last reset.
    public internal(set) var isLoaded = false
    /// Whether new messages belong in the list: it was loaded up to the end, and not trimmed there.
    public internal(set) var followsEnd = false

    var rows: TimelineRows
    var counter: UnreadCounter
    var covered = Spans()
    /// The cut before the oldest message that the origin has.
    var floor: Spans.Cut
    /// The cut after the newest message known.
    var end: Spans.Cut
    /// The rev of the newest change that was not applied, since its place is not held. An older
    /// page may not contain it and proves nothing.
    var changesFrom = 0
    /// Whether the feed has been whole since its last message.
    var isFed = true

    /// An empty timeline, which waits for its first page.
    public init(conversation: String, numbering: Numbering = .dense, reader: String? = nil) {
        self.conversation = conversation
        self.numbering = numbering
        rows = TimelineRows(numbering)
        counter = UnreadCounter(reader: reader)
        floor = numbering == .unnumbered ? .start : .number(1)
        end = floor
    }

    /// Forgets everything, after a `reset` of the conversation or to begin elsewhere. Pages that
    /// are in flight are ignored when they come.
    public mutating func reset() -> Changes {
        var edits = Edits()
        removeSent(but: [], &edits)
        let changes = commit(edits)
        var fresh = Timeline(conversation: conversation, numbering: numbering, reader: reader)
        fresh.generation = generation + 1
        fresh.isFed = isFed
        fresh.rows = rows
        self = fresh
        return changes
    }

    /// Applies `edits` and returns what changed.
    mutating func commit(_ edits: Edits) -> Changes {
        let outcome = rows.perform(edits)
        changesFrom = max(changesFrom, outcome.givenUp)
        counter.follow(outcome, rows)
        return outcome.changes
    }
}

// MARK: What a view reads

extension Timeline {
    /// The reader's user id: their own messages are never unread; nil where nothing counts.
    public var reader: String? { counter.reader }

    /// How many messages are unread: see `Unread`.
    public var unread: Unread { counter.counts }

    /// How many messages the list has, including tombstones and unsent ones.
    public var count: Int { rows.entries.count }

    /// The messages, oldest first.
    /// - Complexity: O(n)
    public var items: [Message] { rows.entries.all.map(\.message) }

    /// The message at an index, 0 being the oldest.
    public subscript(index: Int) -> Message { rows.entries[index].message }

    /// The index of the first message at or above a seq, including unsent ones.
    public func firstIndex(from seq: Int) -> Int { rows.firstIndex(behind: .number(seq)) }

    /// Whether the message at an index is held; otherwise it is only shown and may be outdated.
    public func isHeld(at index: Int) -> Bool { rows.entries[index].isHeld }

    /// Whether the message at an index is unread.
    public func isUnread(at index: Int) -> Bool { rows.entries[index].isUnread }

    /// The index of a message; nil if it is not in the list.
    public func index(of id: String) -> Int? { rows.index(of: id) }

    /// The places held; empty for an unnumbered list.
    public var coverage: Coverage { covered.coverage }

    /// Whether there are older or newer messages beyond the two ends of the list; both are false
    /// until the first page has come.
    public var hasMore: HasMore {
        guard isLoaded else { return HasMore(before: false, after: false) }
        let before = (covered.low ?? end) > floor
        return HasMore(before: before, after: !followsEnd || !touchesEnd)
    }

    /// Whether the newest known message is held, and the feed has not broken since.
    var touchesEnd: Bool {
        let high = covered.high ?? floor
        return numbering == .unnumbered ? high == .end : high >= end
    }

    /// The stretches that are known without a hole, oldest first. A run may have no message, where
    /// its places were never given.
    public var runs: [Run] {
        covered.list.map { span in
            let low = rows.firstIndex(behind: span.low)
            return Run(items: low..<max(low, rows.firstIndex(behind: span.high)), span)
        }
    }

    /// The holes, oldest first: between the runs; between the newest run and the end, if the list
    /// follows it; and up to messages that are only shown beyond the runs. So between two rows of a
    /// numbered log that are not neighbours there is always a gap.
    public var gaps: [Gap] { gaps(toEnd: followsEnd) }

    /// The same.
    /// - Parameter toEnd: With the one up to the end, whether or not the list follows it.
    public func gaps(toEnd: Bool) -> [Gap] {
        var bounds = zip(covered.list, covered.list.dropFirst()).map { ($0.high, $1.low) }
        let shown = shownEnds
        if let low = covered.low, let shown, shown.low < low {
            bounds.insert((shown.low, low), at: 0)
        }
        let floor: Spans.Cut? = isLoaded ? floor : nil
        if let high = covered.high ?? (followsEnd ? floor : shown?.low) {
            let known = toEnd ? max(high, end) : high
            let top = max(known, shown?.high ?? known)
            if high < top { bounds.append((high, top)) }
        }
        return bounds.map { low, high in
            let from = rows.firstIndex(behind: low)
            return Gap(items: from..<max(from, rows.firstIndex(behind: high)), low, high, numbering)
        }
    }

    /// The ends of the messages with a place, in a numbered list.
    private var shownEnds: (low: Spans.Cut, high: Spans.Cut)? {
        guard numbering != .unnumbered, rows.entries.count > 0, let newest = rows.newest,
            rows.isGiven(rows.entries[0].place)
        else { return nil }
        return (.before(rows.entries[0].place), .behind(newest))
    }

    /// One run of a timeline.
    public struct Run: Sendable, Hashable {
        /// The indices of its messages.
        public var items: Range<Int>
        /// Its places; nil in an unnumbered list.
        public var places: Coverage.Run?

        init(items: Range<Int>, _ span: Spans.Span) {
            self.items = items
            guard case .number(let low) = span.low, case .number(let high) = span.high else {
                return
            }
            places = Coverage.Run(low, high - 1)
        }
    }

    /// One hole of a timeline.
    public struct Gap: Sendable, Hashable {
        /// The indices of the messages that are shown in it all the same, and may be outdated;
        /// mostly empty, and then its lower bound is the gap's position.
        public var items: Range<Int>
        /// Its places; nil in an unnumbered list.
        public var places: Coverage.Run?
        /// How many messages are missing, where numbering is dense.
        public var missing: Int?

        init(items: Range<Int>, _ low: Spans.Cut, _ high: Spans.Cut, _ numbering: Numbering) {
            self.items = items
            guard case .number(let low) = low, case .number(let high) = high else { return }
            places = Coverage.Run(low, high - 1)
            missing = numbering == .dense ? high - low : nil
        }
    }
}
