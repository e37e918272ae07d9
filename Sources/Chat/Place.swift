import JSON

/// A message's position in a list: `(seq, id)`; messages without a seq follow, by `(createdAt,
/// id)`. A strict total order over messages with different ids.
struct Place: Sendable, Comparable {
    /// The message's number; `Int.max` for none.
    let number: Int
    /// When the message was written, if it has no number; otherwise `earliest`.
    let moment: Timestamp
    let id: String

    init(_ message: Message) {
        number = message.seq ?? .max
        moment = message.seq == nil ? message.createdAt : .earliest
        id = message.id
    }

    init(number: Int) {
        self.number = number
        moment = .earliest
        id = ""
    }

    /// Whether it is the place of a message that the origin has, not of one being sent.
    var isGiven: Bool { number != .max }

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
