/// The part of one conversation that a view shows: messages in order, and where they have holes.
///
/// Pages and deltas go in, in the order in which they came; what comes out is the list, its runs,
/// its gaps, and with each step the least that a view has to change. It is a plain value without
/// clock or thread; whoever owns it (a session, a data source) asks for the pages.
///
/// **What is held.** The timeline knows which places it holds and shows exactly the messages there,
/// each with a value that the log had. Beside them it may show messages that it does not hold: of a
/// cached answer, an answer to one's own send, one that is still being sent, or one that a gap took
/// away. `isHeld(at:)` tells them apart; a page or delta that covers their place replaces them.
///
/// **The window.** A timeline begins with a page and grows by pages that join it. Live messages
/// extend it only if it *follows the end*, that is, if it was loaded up to there and not trimmed
/// since: while a reader is far up in the history, news are only counted. Nothing below its oldest
/// run is a gap; that is history which nobody asked for yet.
///
/// **Numbering.** Where messages have places, coverage says which of them are held, as
/// `protocol.md` 1 has it. A list without numbers is in order of `(createdAt, id)`; there nothing
/// joins but what a page returned together, or next to the message that it was asked from.
///
/// - Complexity: one delta costs microseconds whatever the length; a page of k messages k times
///   that, and a step over all runs.
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

    /// Whether there is more on a side of a page or of a timeline.
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

    /// The id of the conversation; pages of another are ignored.
    public let conversation: String
    /// How its messages are numbered.
    public let numbering: Numbering
    /// Who reads it: their own messages are never unread; nil to count nothing.
    public let reader: String?
    /// Rises with each `reset`; a page that was asked for in an earlier generation is ignored.
    public internal(set) var generation = 0
    /// Whether a page has come since the beginning or the last reset.
    public internal(set) var isLoaded = false
    /// Whether new messages belong into the list: it was loaded up to the end, and not trimmed
    /// there.
    public internal(set) var followsEnd = false
    /// How many messages are unread: see `Unread`.
    public internal(set) var unread = Unread()

    var entries = BlockList<Entry>()
    var places: [RecordKey: Place] = [:]
    var covered = Spans()
    /// Before the oldest message that the origin has.
    var floor: Spans.Cut
    /// Behind the newest message that anybody told of.
    var end: Spans.Cut
    /// The number of the newest change that was not taken, since its place is not held. A page that
    /// is older may lack it and proves nothing.
    var changesFrom = 0
    /// Whether the feed has been whole since the last message that it told of.
    var isFed = true
    /// What was read: everything up to here.
    var lastRead: Place?
    /// The newest message that the view has passed.
    var viewAnchor: Place?

    /// An empty timeline, which waits for its first page.
    public init(conversation: String, numbering: Numbering = .dense, reader: String? = nil) {
        self.conversation = conversation
        self.numbering = numbering
        self.reader = reader
        floor = numbering == .unnumbered ? .start : .number(1)
        end = floor
    }

    /// Forgets everything, as after a `reset` of the conversation or to begin elsewhere. Pages that
    /// are under way are ignored when they come.
    public mutating func reset() -> Changes {
        var edits = Edits()
        removeSent(but: [], &edits)
        let changes = commit(edits)
        var fresh = Timeline(conversation: conversation, numbering: numbering, reader: reader)
        fresh.generation = generation + 1
        fresh.isFed = isFed
        fresh.entries = entries
        fresh.places = places
        self = fresh
        return changes
    }
}

// MARK: What a view reads

extension Timeline {
    /// How many messages the list has, tombstones and unsent ones with them.
    public var count: Int { entries.count }

    /// The messages, oldest first.
    /// - Complexity: O(n)
    public var items: [Message] { entries.all.map(\.message) }

    /// The message at an index, 0 being the oldest.
    public subscript(index: Int) -> Message { entries[index].message }

    /// The index of the first message at a place or above it, unsent ones with them.
    public func firstIndex(from seq: Int) -> Int { firstIndex(behind: .number(seq)) }

    /// Whether the message at an index is held; if not, it is only shown and may be outdated.
    public func isHeld(at index: Int) -> Bool { entries[index].isHeld }

    /// Whether the message at an index is unread.
    public func isUnread(at index: Int) -> Bool { entries[index].isUnread }

    /// The index of a message; nil if it is not in the list.
    public func index(of id: String) -> Int? {
        places[RecordKey(id)].flatMap { entries.index(of: $0) }
    }

    /// The places held, of a numbered list; empty otherwise.
    public var coverage: Coverage { covered.coverage }

    /// Whether there are older or newer messages that the list has not got, at its two ends; both
    /// are false until the first page has come.
    public var hasMore: HasMore {
        guard isLoaded else { return HasMore(before: false, after: false) }
        let before = (covered.low ?? end) > floor
        return HasMore(before: before, after: !followsEnd || !touchesEnd)
    }

    /// Whether the newest message that is known to be is held, and no feed broke since.
    var touchesEnd: Bool {
        let high = covered.high ?? floor
        return numbering == .unnumbered ? high == .end : high >= end
    }

    /// The stretches that are known without a hole, oldest first. A run may hold no message, where
    /// its places were never given.
    public var runs: [Run] {
        covered.list.map { span in
            let low = firstIndex(behind: span.low)
            return Run(items: low..<max(low, firstIndex(behind: span.high)), span)
        }
    }

    /// The holes between the runs, the one between the newest run and the end where the list
    /// follows it, and those up to messages that are only shown beyond the runs; oldest first. So
    /// between two rows that are no neighbours in a numbered log there is always a gap.
    public var gaps: [Gap] {
        var bounds = zip(covered.list, covered.list.dropFirst()).map { ($0.high, $1.low) }
        let shown = shownEnds
        if let low = covered.low, let shown, shown.low < low {
            bounds.insert((shown.low, low), at: 0)
        }
        let floor: Spans.Cut? = isLoaded ? floor : nil
        if let high = covered.high ?? (followsEnd ? floor : shown?.low) {
            let known = followsEnd ? max(high, end) : high
            let top = max(known, shown?.high ?? known)
            if high < top { bounds.append((high, top)) }
        }
        return bounds.map { low, high in
            let from = firstIndex(behind: low)
            return Gap(items: from..<max(from, firstIndex(behind: high)), low, high, numbering)
        }
    }

    /// Where the messages of a numbered list begin and end that have a place.
    private var shownEnds: (low: Spans.Cut, high: Spans.Cut)? {
        guard numbering != .unnumbered, entries.count > 0, let newest = newestLoaded,
            hasPlace(entries[0].place)
        else { return nil }
        return (.before(entries[0].place), .behind(newest))
    }

    /// The index of the first entry that lies behind a cut.
    func firstIndex(behind cut: Spans.Cut) -> Int {
        entries.index(where: { .before($0.place) >= cut })
    }

    /// One run of a timeline.
    public struct Run: Sendable, Hashable {
        /// The indices of its messages.
        public var items: Range<Int>
        /// Its places, in a numbered list.
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
        /// mostly empty, and then its lower bound is where the gap stands.
        public var items: Range<Int>
        /// Its places, in a numbered list: ask for what lies between.
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
