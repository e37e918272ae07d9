import Chat
import Wire

/// The frames queued for a session's socket, oldest first: the flow control of each reader. Owned
/// by its session, touched on the loop.
///
/// Bytes count whole frames, also shared ones, since a queue pins the buffer that it refers to.
/// Above the soft limit the queue is shed (`shed`): superseded events are dropped, and a
/// conversation's events become one gap. Replies, `reset` and `unsubscribed` are barriers: events
/// are joined only between two barriers, so that what a client holds is true after every frame.
package struct Outbox {
    enum Item {
        /// A reply or another frame for this session alone, never shed.
        case barrier(Frame)
        case event(Broadcast)
        /// What was shed of one conversation. Indirect, because it is large and rare: the queues of
        /// thousands of readers consist of the other two cases.
        indirect case span(Span)
    }

    /// A stretch of one conversation's stream that became a gap, with the latest record if slot 0
    /// changed in it.
    struct Span {
        var conversation: ID
        var prev: Int
        var asOf: Int
        var touched: Coverage
        var record: Record?
        var head: Head
        var isOpen: Bool
        var since: Timestamp
        /// The place of its first event in the journal.
        var place: Journal.Place

        /// Estimated bytes of the span's frames.
        static let size = 512
    }

    /// Gaps are merged into at most this many intervals: `protocol.md` 2.
    static let gapLimit = 16

    private var items: [Item] = []
    private var start = 0
    /// Bytes queued here.
    package private(set) var bytes = 0
    /// Bytes handed over that the socket has not taken yet.
    package var bytesInFlight = 0
    /// Deltas queued here, for the accounting.
    package private(set) var deltas = 0
    /// The unread totals queued here, which name what changed: none of them may be dropped.
    private var unread = 0

    package init() {}

    package var isEmpty: Bool { start == items.count }
    /// All bytes that this reader's kernel has not taken.
    package var backlog: Int { bytes + bytesInFlight }

    /// The journal place of the oldest queued event that has one.
    var oldest: Journal.Place {
        // A loop by index: this runs at each delivery, and a slice with its iterator would
        // allocate.
        var index = start
        while index < items.count {
            switch items[index] {
            case .event(let event) where event.place.serial > 0: return event.place
            case .span(let span) where span.place.serial > 0: return span.place
            default: index += 1
            }
        }
        return .none
    }

    /// The queued events.
    var events: [Broadcast] {
        items[start...].compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    /// Whether unread totals are queued.
    var holdsUnread: Bool { unread > 0 }

    mutating func append(_ item: Item) {
        items.append(item)
        bytes += Self.size(of: item)
        if case .event(let event) = item {
            deltas += event.deltas
            if event.kind.isUnread { unread += 1 }
        }
    }

    private static func size(of item: Item) -> Int {
        switch item {
        case .barrier(let frame): frame.count
        case .event(let event): event.size
        case .span: Span.size
        }
    }

    /// Passes the oldest frames to `write` until `limit` bytes are reached; at least one frame,
    /// whatever its size.
    /// - Returns: how many deltas went out.
    package mutating func take(_ limit: Int, _ write: (Frame) -> Void) -> Int {
        var taken = 0
        var deltasTaken = 0
        while start < items.count, taken < limit {
            let item = items[start]
            bytes -= Self.size(of: item)
            switch item {
            case .barrier(let frame):
                write(frame)
                taken += frame.count
            case .event(let event):
                write(event.frame)
                taken += event.size
                deltasTaken += event.deltas
                if event.kind.isUnread { unread -= 1 }
                event.accounting?.deltas.written += event.deltas
            case .span(let span):
                for frame in span.frames() {
                    write(frame)
                    taken += frame.count
                }
            }
            start += 1
        }
        deltas -= deltasTaken
        if start == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 64)
            start = 0
        } else if start > 256, start > items.count / 2 {
            items.removeFirst(start)
            start = 0
        }
        return deltasTaken
    }

    /// The fast path of `take` for the usual case: the queue has one item, an event.
    /// - Returns: how many deltas went out; nil if the queue is different.
    mutating func takeSole(_ write: (Frame) -> Void) -> Int? {
        guard items.count == 1, case .event(let event) = items[0] else { return nil }
        items.removeLast()
        bytes = 0
        deltas = 0
        unread = 0
        event.accounting?.deltas.written += event.deltas
        write(event.frame)
        return event.deltas
    }

    /// Drops everything.
    /// - Returns: how many deltas were queued.
    mutating func discard() -> Int {
        let discarded = deltas
        for event in events { event.accounting?.deltas.discarded += event.deltas }
        self = Outbox()
        return discarded
    }
}

// MARK: - Shedding

extension Outbox {
    /// Sheds the queue in the order of `protocol.md` 2, until at most `limit` bytes wait or nothing
    /// is left to shed.
    /// - Parameter note: called for each gap with the conversation, its slots, and the journal
    ///   place of the first event that became part of it.
    /// - Returns: how many deltas were coalesced into gaps.
    mutating func shed(
        to limit: Int, at now: Timestamp,
        note: (ID, Coverage, Journal.Serial) -> Void = { _, _, _ in }
    ) -> Int {
        guard backlog > limit else { return 0 }
        items.removeFirst(start)
        start = 0
        keepLatest()
        if backlog <= limit { return 0 }
        var coalesced = 0
        for conversation in conversationsByWeight() {
            coalesced += collapse(conversation, at: now, note)
            if backlog <= limit { break }
        }
        deltas -= coalesced
        return coalesced
    }

    /// Drops typing, and between two barriers all but the latest of each `read`, `conversations`,
    /// `upstream` and `ping`.
    private mutating func keepLatest() {
        var seen: Set<ID> = []
        var kept: [Item] = []
        kept.reserveCapacity(items.count)
        for item in items.reversed() {
            switch item {
            case .barrier:
                seen.removeAll(keepingCapacity: true)
                kept.append(item)
            case .span:
                kept.append(item)
            case .event(let event):
                if Self.isLatest(event, &seen) {
                    kept.append(item)
                } else {
                    bytes -= Self.size(of: item)
                }
            }
        }
        items = kept.reversed()
    }

    /// Whether to keep the event; called from the newest to the oldest.
    private static func isLatest(_ event: Broadcast, _ seen: inout Set<ID>) -> Bool {
        switch event.kind {
        case .stream, .presence, .unread: true
        case .typing: false
        case .read(let user):
            seen.insert("r\(user.utf8.count):\(user)\(event.conversation.text)".id).inserted
        case .conversations: seen.insert("c\(event.conversation.text)".id).inserted
        case .upstream: seen.insert("u".id).inserted
        case .ping: seen.insert("p".id).inserted
        }
    }

    /// The conversations with queued stream events, largest in bytes first.
    private func conversationsByWeight() -> [ID] {
        var weights: [ID: Int] = [:]
        // Events of one conversation are mostly adjacent: one dictionary access per run.
        var run: (conversation: ID, bytes: Int)?
        for case .event(let event) in items {
            guard case .stream = event.kind else { continue }
            let bytes = event.size
            if let last = run, last.conversation == event.conversation {
                run?.bytes += bytes
            } else {
                if let run { weights[run.conversation, default: 0] += run.bytes }
                run = (event.conversation, bytes)
            }
        }
        if let run { weights[run.conversation, default: 0] += run.bytes }
        return weights.sorted { ($0.value, $0.key.text) > ($1.value, $1.key.text) }.map(\.key)
    }

    /// Turns the conversation's events between two barriers into one span, at the position of the
    /// first of them. An existing span absorbs the events behind it.
    private mutating func collapse(
        _ conversation: ID, at now: Timestamp, _ note: (ID, Coverage, Journal.Serial) -> Void
    ) -> Int {
        var coalesced = 0
        var first: Journal.Serial = 0
        var kept: [Item] = []
        kept.reserveCapacity(items.count)
        var open: (at: Int, span: Span, touched: [Coverage.Run])?
        func close() {
            guard var last = open else { return }
            last.span.touched = Coverage(last.touched).coarsened(to: Self.gapLimit)
            kept[last.at] = .span(last.span)
            if first > 0 { note(conversation, last.span.touched, first) }
            first = 0
            open = nil
        }
        for item in items {
            switch item {
            case .barrier:
                close()
                kept.append(item)
            case .span(let span) where span.conversation == conversation:
                close()
                open = (kept.count, span, span.touched.runs)
                kept.append(item)
            case .event(let event) where event.conversation == conversation:
                guard
                    case .stream(
                        let prev, let asOf, let touched, let deltas, let record, let head,
                        let isOpen) = event.kind
                else {
                    kept.append(item)
                    continue
                }
                bytes -= Self.size(of: item)
                coalesced += deltas
                event.accounting?.deltas.coalesced += deltas
                if first == 0 { first = event.place.serial }
                if open == nil {
                    let span = Span(
                        conversation: conversation, prev: prev, asOf: asOf, touched: touched,
                        record: nil, head: head, isOpen: isOpen, since: now,
                        place: event.place)
                    open = (kept.count, span, [])
                    kept.append(.span(span))
                    bytes += Span.size
                }
                open?.touched += touched.runs
                open?.span.asOf = asOf
                open?.span.head = head
                open?.span.isOpen = isOpen
                if let record { open?.span.record = record }
            case .event, .span:
                kept.append(item)
            }
        }
        close()
        items = kept
        return coalesced
    }
}

extension Outbox.Span {
    /// The record first, without moving `asOf` (it equals `prev`), then the gap, which raises
    /// `asOf`: so the client's `have` is true between the two frames as well.
    func frames() -> [Frame] {
        var frames: [Frame] = []
        if let record {
            frames.append(
                Frame(
                    ServerFrame.conversation(
                        record, prev: prev, asOf: prev, head: head, open: isOpen)))
        }
        let gaps = touched.runs.map {
            Gap(
                after: $0.low - 1, before: $0.high + 1, missing: $0.count, cause: .slow,
                since: since)
        }
        frames.append(
            Frame(
                ServerFrame.gap(
                    conversation: conversation.text, gaps: gaps, prev: prev, asOf: asOf, head: head,
                    open: isOpen)))
        return frames
    }
}
