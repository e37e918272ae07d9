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
/// - Complexity: one delta costs microseconds, however long the list; a page of k messages k times
///   that; each also costs one step per run.
public struct Timeline: Sendable {
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
    /// Rises with each `reset`; a page that was requested in an earlier generation is ignored.
    public internal(set) var generation = 0
    /// Whether a page has come since the start or the last reset.
    public internal(set) var isLoaded = false
    /// Whether new messages belong in the list: it was loaded up to the end, and not trimmed there.
    public internal(set) var followsEnd = false

    var rows: TimelineRows
    var counter: UnreadCounter
    /// The places held, as in `protocol.md` 1.
    public internal(set) var coverage = Coverage()
    /// The oldest place that the origin has.
    var floor = 1
    /// The place after the newest message known.
    var end = 1
    /// The rev of the newest change that was not applied, since its place is not held. An older
    /// page may not contain it and proves nothing.
    var changesFrom = 0

    /// An empty timeline, which waits for its first page.
    public init(conversation: String, reader: String? = nil) {
        self.conversation = conversation
        rows = TimelineRows()
        counter = UnreadCounter(reader: reader)
    }

    /// Forgets everything, after a `reset` of the conversation or to begin elsewhere. Pages that
    /// are in flight are ignored when they come.
    public mutating func reset() -> Changes {
        var edits = Edits()
        removeSent(but: [], &edits)
        let changes = commit(edits)
        var fresh = Timeline(conversation: conversation, reader: reader)
        fresh.generation = generation + 1
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
    public func firstIndex(from seq: Int) -> Int { rows.firstIndex(from: seq) }

    /// Whether the message at an index is held; otherwise it is only shown and may be outdated.
    public func isHeld(at index: Int) -> Bool { rows.entries[index].isHeld }

    /// Whether the message at an index is unread.
    public func isUnread(at index: Int) -> Bool { rows.entries[index].isUnread }

    /// The index of a message; nil if it is not in the list.
    public func index(of id: String) -> Int? { rows.index(of: id) }

    /// Whether there are older or newer messages beyond the two ends of the list; both are false
    /// until the first page has come.
    public var hasMore: HasMore {
        guard isLoaded else { return HasMore(before: false, after: false) }
        let before = (coverage.first ?? end) > floor
        return HasMore(before: before, after: !followsEnd || !touchesEnd)
    }

    /// Whether the newest known message is held, and the feed has not broken since.
    var touchesEnd: Bool {
        (coverage.last ?? floor - 1) >= end - 1
    }

    /// The stretches that are known without a hole, oldest first. A run may have no message, where
    /// its places were never given.
    public var runs: [Run] {
        coverage.runs.map { Run(items: rows.indices(of: $0), places: $0) }
    }

    /// The holes, oldest first: between the runs; between the newest run and the end, if the list
    /// follows it; and up to messages that are only shown beyond the runs. So between two rows
    /// that are not neighbours there is always a gap.
    public var gaps: [Gap] { gaps(toEnd: followsEnd) }

    /// The same.
    /// - Parameter toEnd: With the one up to the end, whether or not the list follows it.
    public func gaps(toEnd: Bool) -> [Gap] {
        var holes = coverage.holes
        let shown = shownPlaces
        if let low = coverage.first, let shown { holes.insert(shown.low, low - 1) }
        let floor = isLoaded ? floor : nil
        if let next = coverage.last.map({ $0 + 1 }) ?? (followsEnd ? floor : shown?.low) {
            let known = toEnd ? max(next, end) : next
            holes.insert(next, max(known - 1, shown?.high ?? 0))
        }
        return holes.runs.map { Gap(items: rows.indices(of: $0), places: $0) }
    }

    /// From the oldest to the newest message with a place.
    private var shownPlaces: Coverage.Run? {
        guard let newest = rows.newest else { return nil }
        return Coverage.Run(rows.entries[0].place.number, newest.number)
    }

    /// One run of a timeline.
    public struct Run: Sendable, Hashable {
        /// The indices of its messages.
        public var items: Range<Int>
        /// Its places.
        public var places: Coverage.Run
    }

    /// One hole of a timeline.
    public struct Gap: Sendable, Hashable {
        /// The indices of the messages that the timeline still shows in it, and that may be
        /// outdated. Mostly empty: then the lower bound is the gap's position.
        public var items: Range<Int>
        /// Its places.
        public var places: Coverage.Run
        /// How many messages are missing.
        public var missing: Int { places.count }
    }
}
