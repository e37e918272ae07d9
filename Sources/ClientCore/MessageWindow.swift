import Chat
import Wire

/// What one view shows of a conversation that is subscribed to: a `Timeline`, kept by the updates
/// of the subscription, with what is still being sent at its end.
///
/// A plain value without clock or thread. Its owner (a list, a data source) asks for pages and
/// carries out the steps that come out. It holds no more than the client does: what the client let
/// go of is only shown from then on.
public struct MessageWindow: Sendable {
    /// What a view has to do.
    public struct Effect: Sendable {
        /// Everything is another: read the list anew, and forget the steps.
        public var isReload = false
        /// What changed, one step after the other.
        public var steps: [Timeline.Changes] = []

        /// Whether there is nothing to do.
        public var isEmpty: Bool { !isReload && steps.allSatisfy(\.isEmpty) }

        mutating func add(_ changes: Timeline.Changes) {
            if !changes.isEmpty { steps.append(changes) }
        }
    }

    /// The messages, their runs and gaps.
    public private(set) var timeline: Timeline
    /// What is not sent yet, oldest first; it stands in the timeline too, without a place.
    public private(set) var drafts: [Draft] = []
    /// The edits and deletions that are not confirmed, oldest first; the rows show what there is.
    public private(set) var changes: [Change] = []
    /// The conversation's own record, as far as it is known.
    public private(set) var record: Conversation?
    /// Where the log stands; nil if nothing is known.
    public private(set) var head: Head?
    /// Whether events come at present.
    public private(set) var isLive = false
    /// Whether there may be changes that the gateway does not know of.
    public private(set) var isOpen = false
    /// The pages that were asked for.
    private var asked: [Int: (kind: Timeline.Page.Kind, generation: Int)] = [:]
    /// The generation of what the client holds.
    package private(set) var generation = 0
    /// What the gateway heals by pushing, and so nobody gets by asking.
    private var healing = Coverage()
    /// What is gone from the origin.
    private var trimmed = Coverage()
    /// How many messages it begins with at most.
    public var opening: Int

    /// An empty window.
    /// - Parameters:
    ///   - reader: who looks at it; their own messages are never unread, and the drafts are theirs.
    ///   - opening: how many messages it begins with at most.
    public init(conversation: String, reader: String? = nil, opening: Int = 100) {
        timeline = Timeline(conversation: conversation, reader: reader)
        self.opening = opening
    }

    /// Notes that a page was asked for under a number, so that it is taken when it comes.
    public mutating func ask(_ kind: Timeline.Page.Kind, as token: Int) {
        asked[token] = (kind, timeline.generation)
    }

    /// Whether a page of this number is still to come.
    public func awaits(_ token: Int) -> Bool { asked[token] != nil }

    /// The holes of the list, from the oldest row to the end of the log: see `Timeline.gaps`. Where
    /// the list was left behind by the end, or has moved elsewhere, the last one reaches up to it.
    public var gaps: [Timeline.Gap] { timeline.gaps(toEnd: timeline.isLoaded) }

    /// Whether there are older messages that the list has not got, and newer ones, be it beyond its
    /// ends or in a hole. A hole below everything that is held is filled by scrolling up.
    public var hasMore: Timeline.HasMore {
        let more = timeline.hasMore
        let first = timeline.coverage.first ?? .min
        let above = gaps.filter { $0.places.low > first }
        return Timeline.HasMore(
            before: more.before || above.count < gaps.count, after: more.after || !above.isEmpty)
    }

    /// The oldest place that is held or shown, and so the lowest of any gap; nil if there is none.
    private var oldest: Int? {
        let shown = timeline.count > 0 ? timeline[0].seq : nil
        return [timeline.coverage.first, shown].compactMap(\.self).min()
    }

    /// What is known of the log, as the rule for loading takes it.
    public var known: KnownPlaces {
        KnownPlaces(
            runs: timeline.coverage, floor: head?.floor ?? 1, head: head?.seq ?? 0,
            closed: healing.union(trimmed))
    }

    /// Whether what is held is of the same log as what the window shows, or is about to open on, so
    /// that it goes on there.
    public func continues(with snapshot: ConversationUpdate.Snapshot) -> Bool {
        let isOpening = asked.values.contains { $0.kind == .initial }
        guard timeline.isLoaded || isOpening, let head, let other = snapshot.head else {
            return false
        }
        return head.epoch == other.epoch && snapshot.generation == generation
    }

    /// Takes an update of the subscription. Each must come here, in order.
    /// - Parameter visible: the indices that the view shows, to trim what is far from them when a
    ///   page comes; nil to keep everything.
    public mutating func take(
        _ update: ConversationUpdate, visible: Range<Int>? = nil
    ) -> Effect {
        var effect = Effect()
        switch update {
        case .began(let snapshot) where continues(with: snapshot): go(on: snapshot, &effect)
        case .began(let snapshot):
            begin(with: snapshot)
            effect.isReload = true
        case .resumed(let frame):
            if !frame.isOpen { renew() }
            take(frame, &effect)
        case .changed(let frame): take(frame, &effect)
        case .page(let token, let result): take(token, result, visible, &effect)
        case .shown(let messages): effect.add(timeline.show(messages))
        case .takenBack(let values):
            for value in values {
                effect.add(timeline.takeBack(value.message, instead: value.instead))
            }
        case .dropped(let places): effect.add(timeline.apply([], gaps: places))
        case .drafts(let drafts): take(drafts, &effect)
        case .changes(let changes): self.changes = changes
        case .forgotten:
            _ = timeline.reset()
            asked = [:]
            effect.isReload = true
        case .live(let isLive):
            self.isLive = isLive
            // What was asked for is answered by now, or never.
            if !isLive { asked = [:] }
        case .open(let isOpen):
            self.isOpen = isOpen
            if !isOpen { renew() }
        case .failed, .ended, .read, .typing: break
        }
        return effect
    }

    /// Begins again elsewhere: everything but the drafts is forgotten, and the next page that is
    /// asked for as `initial` opens the window.
    public mutating func clear() -> Effect {
        _ = timeline.reset()
        asked = [:]
        return Effect(isReload: true)
    }

    /// Trims what is far from the view.
    public mutating func trim(to count: Int, focus: Double) -> Timeline.Changes {
        timeline.trim(to: count, focus: focus)
    }

    /// Says up to where the reader has read, and how many messages are unread then.
    public mutating func setRead(upTo seq: Int, unread: Int? = nil) -> Timeline.Changes {
        timeline.setRead(upTo: seq, unread: unread)
    }

    // MARK: Taking

    private mutating func take(_ frame: MessagesFrame, _ effect: inout Effect) {
        head = frame.head
        record = frame.record ?? record
        note(frame.gaps, covers: frame.covers)
        effect.add(
            timeline.apply(
                frame.deltas, covers: frame.covers, gaps: frame.missing, head: frame.head.seq,
                floor: frame.head.floor, asOf: frame.asOf, from: oldest))
    }

    /// Takes the newest word on which gaps are filled by asking.
    private mutating func note(_ gaps: [Gap], covers: Coverage) {
        healing = healing.subtracting(covers)
        trimmed = trimmed.subtracting(covers)
        for gap in gaps {
            guard let run = gap.places else { continue }
            let places = Coverage([run])
            healing = healing.subtracting(places)
            trimmed = trimmed.subtracting(places)
            if gap.cause == .trimmed {
                trimmed = trimmed.union(places)
            } else if !gap.isFillable {
                healing = healing.union(places)
            }
        }
    }

    /// The gateway stands at the present again. What it still lacked to heal may have been healed
    /// by frames that are lost, or left out here, so that it can be asked for.
    private mutating func renew() { healing = Coverage() }

    /// The window opens on the newest messages that are held, and follows the end.
    private mutating func begin(with snapshot: ConversationUpdate.Snapshot) {
        _ = timeline.reset()
        asked = [:]
        head = snapshot.head
        generation = snapshot.generation
        record = snapshot.record ?? record
        healing = []
        trimmed = []
        note(snapshot.gaps, covers: snapshot.covers)
        guard let head = snapshot.head else {
            _ = timeline.show(snapshot.shown)
            return
        }
        var covers = Coverage()
        var messages: [Message] = []
        if let run = snapshot.covers.runs.last {
            let inside = snapshot.messages.filter { run.contains($0.seq ?? 0) }
            messages = inside.suffix(opening)
            let low = inside.count > opening ? messages.first?.seq ?? run.low : run.low
            covers = Coverage(low, run.high)
        }
        var page = Timeline.Page(
            .initial, of: timeline.conversation, messages: messages,
            hasMore: .init(before: (covers.first ?? head.seq + 1) > head.floor, after: false),
            covers: covers)
        page.head = head.seq
        page.floor = head.floor
        _ = timeline.apply(page)
        _ = timeline.show(snapshot.shown.filter { $0.seq ?? 0 >= covers.first ?? .max })
    }

    /// Somebody listens again to a log that went on meanwhile, or was told of it in short: the
    /// window keeps its place, takes over what the client holds there now, and has gaps where that
    /// is held no more. A page that is asked for still comes.
    private mutating func go(on snapshot: ConversationUpdate.Snapshot, _ effect: inout Effect) {
        head = snapshot.head
        record = snapshot.record ?? record
        healing = []
        trimmed = []
        note(snapshot.gaps, covers: snapshot.covers)
        guard timeline.isLoaded else { return }
        let held = timeline.coverage
        let low = oldest ?? 1
        let high = timeline.followsEnd ? Int.max : held.last ?? low
        let inside = snapshot.messages.filter { low <= $0.seq ?? 0 && $0.seq ?? 0 <= high }
        effect.add(
            timeline.apply(
                inside.map { MessageDelta(type: .inserted, via: .cache, message: $0) },
                covers: snapshot.covers.clipped(low, .max),
                gaps: held.subtracting(snapshot.covers),
                head: snapshot.head?.seq, floor: snapshot.head?.floor ?? 1, asOf: snapshot.asOf,
                from: low))
        let shown = snapshot.shown.filter { low <= $0.seq ?? 0 && $0.seq ?? 0 <= high }
        effect.add(timeline.show(shown))
    }

    private mutating func take(
        _ token: Int, _ result: Result<MessagesFrame, ClientError>, _ visible: Range<Int>?,
        _ effect: inout Effect
    ) {
        guard let (kind, generation) = asked[token] else { return }
        guard case .success(let frame) = result else { return asked[token] = nil }
        if !frame.isCached { asked[token] = nil }
        // A page that was asked from a place that has left the list becomes a run of its own.
        let isLost = kind.anchor.map { !timeline.shows($0) } ?? false
        var page = Timeline.Page(
            isLost ? .around : kind, of: timeline.conversation, messages: frame.messages,
            hasMore: frame.hasMore ?? .init(before: true, after: true), covers: frame.covers)
        page.generation = generation
        page.gaps = frame.missing
        page.head = frame.head.seq
        page.floor = frame.head.floor
        page.isCached = frame.isCached
        head = frame.head
        if !frame.isCached { note(frame.gaps, covers: frame.covers) }
        let changes = timeline.apply(page, visible: isLost ? nil : visible)
        if kind == .initial { effect.isReload = true } else { effect.add(changes) }
    }

    private mutating func take(_ drafts: [Draft], _ effect: inout Effect) {
        let old = self.drafts
        self.drafts = drafts
        let author = timeline.reader ?? ""
        let new = drafts.filter { draft in !old.contains { $0.id.isSameID(draft.id) } }
        effect.add(
            timeline.show(new.map { $0.message(of: author, in: timeline.conversation) }))
        for draft in old where !drafts.contains(where: { $0.id.isSameID(draft.id) }) {
            // One that has a place now is a message, and stays.
            guard let index = timeline.index(of: draft.id), timeline[index].seq == nil else {
                continue
            }
            effect.add(timeline.hide(draft.id))
        }
    }
}

extension Timeline.Page.Kind {
    /// The message that a page was asked from.
    fileprivate var anchor: Timeline.Page.Anchor? {
        switch self {
        case .before(let anchor), .after(let anchor): anchor
        case .initial, .latest, .around: nil
        }
    }
}
