import JSON

/// A message's position in a list: `(seq, id)`; messages without a seq follow, by `(createdAt,
/// id)`. A strict total order over messages with different ids.
struct Place: Sendable, Comparable {
    /// The message's number; `Int.max` for none.
    let number: Int
    /// When the message was written, if it has no number; otherwise `earliest`.
    let moment: Timestamp
    let id: String

    init(_ message: Message, in numbering: Timeline.Numbering) {
        if numbering != .unnumbered, let seq = message.seq {
            self.init(number: seq, id: message.id)
        } else {
            self.init(moment: message.createdAt, id: message.id)
        }
    }

    init(number: Int, id: String = "") {
        self.number = number
        moment = .earliest
        self.id = id
    }

    init(moment: Timestamp, id: String) {
        number = .max
        self.moment = moment
        self.id = id
    }

    // Compares ids by their bytes, as everywhere: Swift's own order would make two ids one.
    static func < (a: Place, b: Place) -> Bool {
        if a.number != b.number { return a.number < b.number }
        if a.moment != b.moment { return a.moment < b.moment }
        return a.id.utf8.lexicographicallyPrecedes(b.id.utf8)
    }

    static func == (a: Place, b: Place) -> Bool {
        a.number == b.number && a.moment == b.moment && a.id.hasSameBytes(as: b.id)
    }
}
