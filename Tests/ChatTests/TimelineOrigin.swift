import Chat
import TestSupport

/// The truth that a timeline is tested against: one conversation, its messages as they are now, and
/// a feed that tells of its changes or fails to.
struct TimelineOrigin {
    private(set) var messages: [Message] = []
    private(set) var rev = 0
    /// Whether the message before the next one was told of.
    var isChained = true
    private var clock = 0

    init(count: Int, _ random: inout SplitMix64) {
        for _ in 0..<count { append(&random) }
    }

    var head: Int { messages.last?.seq ?? 0 }

    /// Writes a message, and tells of it with what the event proves.
    @discardableResult
    mutating func append(_ random: inout SplitMix64) -> (delta: MessageDelta, covers: Coverage) {
        let before = head
        rev += 1
        // Several may have one moment: then their ids decide, which rise too.
        clock += Int.random(in: 0...2, using: &random)
        let seq = before + 1
        let message = Message(
            id: "m\(10_000 + rev)", conversation: "c", seq: seq, rev: rev,
            author: Int.random(in: 0..<3, using: &random) == 0 ? "me" : "alice",
            body: Int.random(in: 0..<2, using: &random) == 0 ? "event" : "text",
            createdAt: Timestamp(milliseconds: Int64(clock)))
        messages.append(message)
        let covers = Coverage(seq, seq)
        return (MessageDelta(type: .inserted, via: .live, message: message), covers)
    }

    /// Changes or deletes a message, and tells of it.
    mutating func change(_ random: inout SplitMix64) -> MessageDelta? {
        guard let at = messages.indices.randomElement(using: &random) else { return nil }
        guard !messages[at].isDeleted else { return nil }
        rev += 1
        messages[at].rev = rev
        messages[at].editedAt = Timestamp(milliseconds: Int64(clock + rev))
        messages[at].body = Int.random(in: 0..<2, using: &random) == 0 ? "event" : "text"
        if Int.random(in: 0..<3, using: &random) == 0 { messages[at] = messages[at].tombstone }
        let type: DeltaKind = messages[at].isDeleted ? .deleted : .updated
        return MessageDelta(type: type, via: .live, message: messages[at])
    }

    /// Reads a page, as the gateway does: it says what it proves.
    func page(
        _ kind: Timeline.Page.Kind, limit: Int, _ random: inout SplitMix64
    ) -> Timeline.Page? {
        var range = 0..<messages.count
        switch kind {
        case .initial, .around:
            let at = Int.random(in: 0...messages.count, using: &random)
            range = max(0, at - limit)..<min(messages.count, at + limit)
        case .latest: break
        case .before(let anchor):
            guard let at = index(of: anchor) else { return nil }
            range = max(0, at - limit)..<at
        case .after(let anchor):
            guard let at = index(of: anchor) else { return nil }
            range = at + 1..<min(messages.count, at + 1 + limit)
        }
        if kind == .latest { range = max(0, messages.count - limit)..<messages.count }
        let found = Array(messages[range]).shuffled(using: &random)
        let more = Timeline.HasMore(
            before: range.lowerBound > 0, after: range.upperBound < messages.count)
        var page = Timeline.Page(
            kind, of: "c", messages: found, hasMore: more, covers: covers(kind, range))
        page.head = head
        page.asOf = rev
        return page
    }

    /// What a gateway says that a page proves: from its farther end to the anchor, the head or the
    /// floor.
    private func covers(_ kind: Timeline.Page.Kind, _ range: Range<Int>) -> Coverage {
        func seq(_ index: Int) -> Int { messages[index].seq ?? 0 }
        var low = range.lowerBound == 0 ? 1 : range.isEmpty ? head + 1 : seq(range.lowerBound)
        var high =
            range.upperBound == messages.count
            ? head : range.isEmpty ? 0 : seq(range.upperBound - 1)
        if case .before = kind { high = seq(range.upperBound) - 1 }
        if case .after = kind { low = seq(range.lowerBound - 1) + 1 }
        return low <= high ? Coverage(low, high) : Coverage()
    }

    private func index(of anchor: Timeline.Page.Anchor) -> Int? {
        switch anchor {
        case .seq(let seq): messages.firstIndex { $0.seq == seq }
        case .id(let id): messages.firstIndex { $0.id == id }
        }
    }
}
