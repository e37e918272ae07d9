import Chat
import Wire

/// What a client holds of one conversation, by the rules of `protocol.md` 1 ("What a client does")
/// and nothing else: `have`, the values of the places held, why the rest is missing, and apart from
/// them the values that are only *shown* (a cached answer, the answer to one's own send, what a gap
/// took away).
///
/// Pure: frames go in, in the order in which they came. A place has a held value only if it lies in
/// `runs`, and no shown value there is older than the held one.
package struct Holder: Sendable {
    /// A `have` may name this many runs: `protocol.md` 4.
    static let runLimit = 1000

    /// The newest head seen; nil if nothing is held.
    package private(set) var head: Head?
    /// Each slot held has every change up to this number.
    package private(set) var asOf = 0
    /// The places held.
    package private(set) var runs = Coverage()
    /// The values of the places held.
    package private(set) var held: [Int: Message] = [:]
    /// The values that are only shown.
    package private(set) var shown: [Int: Message] = [:]
    /// The conversation's own record: slot 0.
    package private(set) var record: Conversation?
    /// Whether a subscription tells of each change, so that a page is of the same log as the rest.
    private var isSubscribed = false
    /// What was shown when the last subscription was answered.
    private var unproven: [Int: Message] = [:]
    /// Rises whenever everything is forgotten: what was taken over before is of no account then.
    package private(set) var generation = 0
    /// What a store has to write.
    package internal(set) var changes = HolderChanges()
    private var ledger = GapLedger()

    package init() {}

    /// What a client held when it stored this; `values` are those of the places in `runs`. Of a
    /// densely numbered log (whose places all have values, tombstones too) no place is held that
    /// came without one: a store that lost a row would have a hole taken for silence.
    package init(_ have: Have, values: [Message], record: Conversation?, isDense: Bool = true) {
        head = have.head
        asOf = have.asOf
        self.record = record
        for message in values {
            guard let seq = message.seq, have.runs.contains(seq) else { continue }
            held[seq] = message
        }
        runs = isDense ? have.runs.intersection(Coverage(places: held.keys)) : have.runs
        if runs != have.runs { held = held.filter { runs.contains($0.key) } }
    }

    /// What a subscription is resumed with; nil if nothing is held.
    package var have: Have? { head.map { Have(head: $0, asOf: asOf, runs: runs) } }

    /// The gaps from the oldest place held or declared up to the head, oldest first.
    package var gaps: [Gap] { ledger.list(runs: runs, head: head) }

    /// The value at a place, shown or held.
    package func value(at seq: Int) -> Message? { shown[seq] ?? held[seq] }

    /// The newest value known of a message.
    /// - Complexity: O(n)
    func message(_ id: String) -> Message? {
        let seq =
            shown.first { $0.value.id.isSameID(id) } ?? held.first { $0.value.id.isSameID(id) }
        return seq.flatMap { value(at: $0.key) }
    }

    /// The subscription is over, or its connection; what is held stays.
    package mutating func unsubscribed() { isSubscribed = false }

    /// Forgets everything, and the subscription with it.
    package mutating func forget() {
        changes.forget()
        let (changes, generation) = (changes, generation + 1)
        self = Holder()
        self.changes = changes
        self.generation = generation
    }

    /// A store lacks changes of this.
    mutating func noteAllChanged() {
        changes.forget()
        for seq in held.keys { changes.note(seq) }
        if record != nil { changes.noteRecord() }
    }

    /// What a subscription may be resumed with. Runs above the limit are dropped here and now, not
    /// only left out: the answer speaks of what was named, and no other change would come.
    package mutating func resumable() -> Have? {
        if runs.runs.count > Self.runLimit {
            drop(Coverage(runs.runs.dropLast(Self.runLimit)))
        }
        return have
    }

    /// Whether a message can be shown where it stands: nothing else does, and the log begins below.
    func hasRoom(for message: Message) -> Bool {
        guard let seq = message.seq else { return true }
        return seq >= head?.floor ?? 1 && value(at: seq)?.id.isSameID(message.id) ?? true
    }

    // MARK: Frames

    /// Takes the answer of `subscribeMessages`. It has every change since `have` of what is held,
    /// and the end of the log: a value that was only shown there, and does not come, is of a branch
    /// of the log that is lost, such as a message of one's own that was answered between two
    /// subscriptions. What may lack changes itself proves that later, when it lacks none.
    /// - Parameter resumed: whether the request named a `have`.
    /// - Returns: the values that were shown, and that the log does not have.
    @discardableResult
    package mutating func subscribed(_ frame: MessagesFrame, resumed: Bool) -> [Message] {
        if !resumed || frame.isReset { forget() }
        isSubscribed = true
        take(frame)
        unproven = shown
        asOf = frame.asOf
        if let record = frame.record { take(record) }
        return frame.isOpen ? [] : dropUnproven()
    }

    /// Takes the final answer of `fetchMessages`. Without a subscription it may be of another log,
    /// or of another branch of it, than what is held: then it is only shown.
    package mutating func fetched(_ frame: MessagesFrame) {
        guard isSubscribed else {
            show(frame.messages, head: frame.head)
            return
        }
        // Where nothing is held there is only one `asOf`, and it is the smaller.
        let before = head == nil || isForeign(frame.head) ? frame.asOf : asOf
        take(frame)
        asOf = min(before, frame.asOf)
    }

    /// Takes an event `messages`, `gap` or `conversation`.
    /// - Returns: the values that were shown, and that the log does not have.
    @discardableResult
    package mutating func event(_ frame: MessagesFrame) -> [Message] {
        take(frame)
        // In a new epoch nothing is held yet, so `asOf` is 0 and only a chain from 0 can raise it.
        if let prev = frame.prev, prev <= asOf { asOf = frame.asOf }
        if let record = frame.record, record.rev ?? 0 >= self.record?.rev ?? 0 { take(record) }
        return frame.isOpen ? [] : dropUnproven()
    }

    /// Shows values that are not held. What is held already at the same change or a later one
    /// stays; a covering frame replaces the rest.
    /// - Parameter head: the one that came with them; values of another epoch are not shown.
    /// - Returns: those that are shown now.
    @discardableResult
    package mutating func show(_ messages: [Message], head: Head? = nil) -> [Message] {
        if let head, isForeign(head) { return [] }
        var taken: [Message] = []
        for message in messages {
            guard let seq = message.seq, seq >= self.head?.floor ?? 1 else { continue }
            // Where another message stands, it is of a log that nobody told of yet.
            guard hasRoom(for: message) else { continue }
            if let known = value(at: seq), known.rev ?? 0 >= message.rev ?? 0 { continue }
            shown[seq] = message
            taken.append(message)
        }
        return taken
    }

    private func isForeign(_ other: Head) -> Bool {
        head.map { $0.epoch != other.epoch } ?? false
    }

    private mutating func take(_ record: Conversation) {
        self.record = record
        changes.noteRecord()
    }

    /// Rules 1 and 2: values, then `((runs ∪ covers) \ gaps) \ [1, floor − 1]`.
    private mutating func take(_ frame: MessagesFrame) {
        if isForeign(frame.head) {
            let wasSubscribed = isSubscribed
            forget()
            isSubscribed = wasSubscribed
        }
        for seq in shown.keys where frame.covers.contains(seq) { shown[seq] = nil }
        for message in frame.messages {
            guard let seq = message.seq else { continue }
            shown[seq] = nil
            if let known = held[seq], known.rev ?? 0 > message.rev ?? 0 { continue }
            held[seq] = message
            changes.note(seq)
        }
        var newest = frame.head
        if let head, head.rev > newest.rev { newest = head }
        // Floors only rise, also where nothing else is newer.
        newest.floor = max(head?.floor ?? 1, frame.head.floor)
        head = newest
        ledger.note(frame.gaps)
        var lost = frame.missing
        if newest.floor > 1 { lost.insert(0, newest.floor - 1) }
        runs = runs.union(frame.covers).subtracting(lost)
        ledger.cut(runs)
        let isBare = frame.messages.contains { $0.seq.map { !runs.contains($0) } ?? false }
        if !lost.isEmpty || isBare { demote() }
    }

    /// Drops what was shown before the subscription, where the log is known to be another.
    private mutating func dropUnproven() -> [Message] {
        let end = head?.seq ?? 0
        let lost = unproven.filter { seq, message in
            shown[seq] == message && (runs.contains(seq) || seq > end)
        }
        for seq in lost.keys { shown[seq] = nil }
        unproven = [:]
        return lost.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Moves the values whose place is held no more to those that are only shown, and drops what
    /// lies below the floor: a reader should not see rows vanish while a gap is being filled.
    private mutating func demote() {
        let floor = head?.floor ?? 1
        for (seq, message) in held where !runs.contains(seq) {
            held[seq] = nil
            changes.note(seq)
            if shown[seq] == nil { shown[seq] = message }
        }
        for seq in shown.keys where seq < floor { shown[seq] = nil }
    }

    // MARK: Letting go

    /// Holds these places no more, and forgets their values.
    package mutating func drop(_ places: Coverage) {
        guard !places.isEmpty else { return }
        runs = runs.subtracting(places)
        for seq in held.keys where places.contains(seq) {
            held[seq] = nil
            changes.note(seq)
        }
        for seq in shown.keys where places.contains(seq) { shown[seq] = nil }
    }

    /// Lets go of the oldest values where there are many more than `limit`, so that a walk through
    /// a long history does not fill the memory. The newest quarter of them stays, however much is
    /// looked at: that is where messages come, and nobody has had time yet to look at those.
    /// - Parameter kept: what somebody looks at.
    /// - Returns: the places that are no longer held; the views that show them must be told.
    package mutating func trim(to limit: Int, keeping kept: Coverage) -> Coverage {
        // A quarter above it, so that this walk through all values is rare.
        guard held.count + shown.count > limit + limit / 4 else { return Coverage() }
        let order = Set(held.keys).union(shown.keys).sorted()
        var excess = order.count - limit
        var dropped = Coverage()
        for (at, seq) in order.dropLast(limit / 4).enumerated()
        where excess > 0 && !kept.contains(seq) {
            let next = at + 1 < order.count ? order[at + 1] : seq + 1
            dropped.insert(at == 0 ? 0 : seq, next - 1)
            excess -= 1
        }
        dropped = dropped.subtracting(kept)
        drop(dropped)
        return dropped
    }
}

/// What has changed of a holder since a store wrote it last.
package struct HolderChanges: Sendable {
    /// Everything stored before counts no more.
    package private(set) var isForgotten = false
    /// The places whose value is another, or is gone.
    package private(set) var places: Set<Int> = []
    /// Whether the record is another.
    package private(set) var hasRecord = false

    mutating func note(_ seq: Int) { places.insert(seq) }
    mutating func noteRecord() { hasRecord = true }

    mutating func forget() {
        isForgotten = true
        places = []
        hasRecord = false
    }
}
