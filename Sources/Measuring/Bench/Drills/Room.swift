/// One conversation of a drill, and the truth about it: only the driver writes it, over one
/// connection, so it knows the number of every change before the gateway answers.
final class Room {
    /// One change of the log.
    struct Change {
        let seq: Int
        /// When it was due, on the driver's one clock.
        let due: Nanoseconds
        /// The newest message's seq as of this change.
        let top: Int
    }

    let index: Int
    let name: String
    /// The rev of the log before the first of `changes`.
    let base: Int
    private(set) var changes: [Change] = []
    /// By message, the rev that inserted it.
    private var inserts: [Int] = []
    /// The edits: which change rewrote which message.
    private(set) var edits: [(rev: Int, seq: Int)] = []

    init(index: Int, name: String, base: Int) {
        self.index = index
        self.name = name
        self.base = base
    }

    /// The newest message.
    var top: Int { inserts.count }
    /// The newest change.
    var rev: Int { base + changes.count }

    /// The id of the message at a place.
    static func id(of seq: Int) -> String { "m\(seq)" }

    /// Records that a message is about to be sent.
    /// - Returns: its place.
    func insert(due: Nanoseconds) -> Int {
        let seq = top + 1
        changes.append(Change(seq: seq, due: due, top: seq))
        inserts.append(rev)
        return seq
    }

    /// Records that a message is about to be edited.
    func edit(_ seq: Int, due: Nanoseconds) {
        changes.append(Change(seq: seq, due: due, top: top))
        edits.append((rev, seq))
    }

    /// The change with that number; nil if there is none yet.
    func change(_ rev: Int) -> Change? {
        let place = rev - base - 1
        return changes.indices.contains(place) ? changes[place] : nil
    }

    /// The newest message's place as of a change.
    func top(asOf rev: Int) -> Int { change(rev)?.top ?? 0 }

    /// When the message that this change inserted was due; nil for an edit.
    func due(_ value: StreamFrame.Value) -> Nanoseconds? {
        isFirst(value) ? change(value.rev)?.due : nil
    }

    /// Whether this is the message's first value.
    func isFirst(_ value: StreamFrame.Value) -> Bool {
        inserts.indices.contains(value.seq - 1) && inserts[value.seq - 1] == value.rev
    }

    /// Whether the driver sent this value: that message, at this place, with this number.
    func isTrue(_ value: StreamFrame.Value) -> Bool {
        change(value.rev)?.seq == value.seq && value.id == Self.id(of: value.seq)
    }
}
