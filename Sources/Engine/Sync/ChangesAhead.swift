import Wire

/// What subscribers were sent above a replica's position: per slot the newest rev.
struct ChangesAhead {
    /// Still true after a break of the feed.
    private var told: [Int: Int] = [:]

    /// Limit of remembered slots. Beyond it values may be sent twice.
    private static let limit = 10_000

    /// Whether subscribers were sent this value above the position, or a newer one: live, or in the
    /// page that was shown first.
    func hasTold(_ message: EncodedMessage) -> Bool {
        told[message.seq].map { $0 >= message.rev } ?? false
    }

    /// Whether subscribers still need this value from the feed. A value newer than the change that
    /// brought it is not sent again with its own change.
    /// - Parameter position: of the stream now.
    mutating func isToBeTold(_ message: EncodedMessage, at position: Int) -> Bool {
        guard hasTold(message) else {
            if message.rev > position { tell(message) }
            return true
        }
        if let rev = told[message.seq], rev <= position { told[message.seq] = nil }
        return false
    }

    /// Records that subscribers are sent this value.
    mutating func tell(_ message: EncodedMessage) {
        if told.count >= Self.limit { told = [:] }
        told[message.seq] = message.rev
    }

    /// The position reached this change.
    mutating func forgetTold(upTo position: Int) { told = told.filter { $0.value > position } }
}
