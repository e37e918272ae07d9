import JSON

/// What one client holds of one conversation, maintained strictly by the rules of `protocol.md` 1,
/// and checked against the truth after every frame: held values are those that were sent, nothing
/// comes twice, and everything that is not held was declared in a gap.
struct Holding {
    private var head: StreamFrame.Head?
    private(set) var asOf = 0
    private(set) var runs = Slots()
    /// Declared missing, and not held since.
    private(set) var declared = Slots()
    /// The places of which a value ever came.
    private var valued = Slots()
    /// The rev of the value, if it was edited.
    private var edited: [Int: Int] = [:]
    /// Where the first answer began: nothing older was ever requested.
    private var low: Int?
    private(set) var isSubscribed = false
    /// Whether a page for a gap is in flight.
    var isHealing = false

    /// The `have` for a resume; nil if nothing is held.
    var have: [UInt8]? {
        guard let head else { return nil }
        var json = JSONWriter()
        json.beginObject()
        json.member("head", raw: head.text)
        json.member("asOf", int: asOf)
        json.key("runs")
        json.beginArray()
        for run in runs.ranges {
            json.beginArray()
            json.int(run.lowerBound)
            json.int(run.upperBound)
            json.endArray()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// The connection has ended.
    mutating func disconnect() {
        isSubscribed = false
        isHealing = false
    }

    private mutating func forget() {
        let wasSubscribed = isSubscribed
        self = Holding()
        isSubscribed = wasSubscribed
    }

    // MARK: - The rules

    /// Applies a frame.
    mutating func apply(
        _ frame: StreamFrame, _ room: Room, _ way: Ledger.Way, _ ledger: inout Ledger,
        at now: Nanoseconds
    ) {
        switch frame.kind {
        case .reset, .unsubscribed:
            ledger.note("a subscription was ended")
            forget()
            isSubscribed = false
            return
        case .subscribed:
            // Subscribing without `have` forgets at the answer.
            if head == nil || frame.isReset { begin(frame, &ledger) }
            isSubscribed = true
        case .messages, .gap, .conversation:
            if !isSubscribed { ledger.note("an event came to a client that had not subscribed") }
        case .page: break
        }
        if let old = head?.epoch, let new = frame.head?.epoch, old != new { begin(frame, &ledger) }
        let heldBefore = head != nil
        let before = asOf
        take(frame, room, way, &ledger, at: now)
        switch frame.kind {
        case .subscribed: asOf = frame.asOf
        case .page: asOf = heldBefore ? min(asOf, frame.asOf) : frame.asOf
        default: if frame.prev <= asOf { asOf = frame.asOf }
        }
        if low == nil { low = runs.ranges.first?.lowerBound ?? room.top(asOf: asOf) + 1 }
        // An event with a message for each place that it covers leaves all other places unchanged:
        // only later edits can be missing.
        let isStep = way == .live && frame.covers.count <= frame.values.count
        check(room, &ledger, editsAbove: isStep ? before : 0)
    }

    private mutating func begin(_ frame: StreamFrame, _ ledger: inout Ledger) {
        if head != nil { ledger.resets += 1 }
        forget()
    }

    private mutating func take(
        _ frame: StreamFrame, _ room: Room, _ way: Ledger.Way, _ ledger: inout Ledger,
        at now: Nanoseconds
    ) {
        if let new = frame.head, new.rev >= head?.rev ?? 0 { head = new }
        for value in frame.values where frame.covers.contains(value.seq) {
            take(value, room, way, &ledger, at: now)
        }
        runs.formUnion(frame.covers)
        runs.subtract(frame.gaps)
        if let floor = frame.head?.floor, floor > 1 { runs.remove(1...(floor - 1)) }
        guard !frame.gaps.isEmpty || !declared.isEmpty else { return }
        if frame.kind != .page {
            ledger.declared += frame.gaps.count
            declared.formUnion(frame.gaps)
        }
        declared.subtract(runs)
    }

    private mutating func take(
        _ value: StreamFrame.Value, _ room: Room, _ way: Ledger.Way, _ ledger: inout Ledger,
        at now: Nanoseconds
    ) {
        guard room.isTrue(value) else { return ledger.note("a message is not what was sent") }
        let isFirst = room.isFirst(value)
        guard valued.contains(value.seq) else {
            valued.insert(value.seq...value.seq)
            if !isFirst { edited[value.seq] = value.rev }
            return ledger.deliver(way, due: room.due(value), at: now)
        }
        let known = edited[value.seq]
        let isKnown = isFirst ? known == nil : known == value.rev
        if way != .healing, isKnown, runs.contains(value.seq) {
            ledger.note("a message came twice")
        }
        if !isFirst { edited[value.seq] = max(known ?? 0, value.rev) }
    }

    // MARK: - The truth

    private func check(_ room: Room, _ ledger: inout Ledger, editsAbove old: Int) {
        if asOf > room.rev || head?.rev ?? 0 > room.rev {
            ledger.note("a frame is ahead of the log")
        }
        for run in runs.ranges where !valued.contains(run) {
            ledger.note("a place is covered and its message never came")
        }
        for edit in room.edits.reversed() {
            if edit.rev <= old { break }
            if edit.rev <= asOf, runs.contains(edit.seq), edited[edit.seq] ?? 0 < edit.rev {
                ledger.note("a message is held as it was before an edit")
            }
        }
        if unaccounted(room, asOf: asOf) > 0 { ledger.note("a message is neither held nor told") }
    }

    /// How many messages up to a change the client neither holds nor has in a declared gap.
    func unaccounted(_ room: Room, asOf rev: Int) -> Int {
        let first = low ?? 1
        let last = room.top(asOf: rev)
        guard first <= last, !runs.contains(first...last) else { return 0 }
        var missing = Slots([first...last])
        missing.subtract(runs)
        missing.subtract(declared)
        return missing.count
    }

    /// Whether it holds everything in its newest version.
    func isWhole(_ room: Room) -> Bool {
        asOf == room.rev && (room.top == 0 || runs.contains((low ?? 1)...max(low ?? 1, room.top)))
    }
}
