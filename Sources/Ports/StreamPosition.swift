import Chat
import Wire

/// What an answer about a stream's messages is based on: how far the log is known, and what is held
/// at the stream's position.
package struct StreamPosition: Sendable {
    /// The newest change known.
    package var head: Head
    /// The stream's position: everything held includes each change up to here.
    package var asOf: Int
    /// Slots held as of the position; nil: all.
    package var held: Coverage?
    /// Whether there may be changes above `asOf` that this gateway does not know.
    package var isOpen: Bool
    package var now: Timestamp
    /// Since when the stream has been missing what it is missing.
    package var since: Timestamp

    package init(
        head: Head, asOf: Int, held: Coverage? = nil, isOpen: Bool = false, now: Timestamp,
        since: Timestamp? = nil
    ) {
        self.head = head
        self.asOf = asOf
        self.held = held
        self.isOpen = isOpen
        self.now = now
        self.since = since ?? now
    }

    /// Whether nothing of the log up to `head` is missing, and nothing above it is known.
    package func knowsAll(upTo head: Head) -> Bool {
        held == nil && !isOpen && self.head == head && asOf == head.rev
    }

    /// Gaps for these slots. What the gateway itself is missing keeps the time since when; every
    /// other gap is dated now.
    package func gaps(_ places: Coverage, _ cause: GapCause) -> [Gap] {
        places.runs.map {
            Gap(
                after: $0.low - 1, before: $0.high + 1, missing: $0.count, cause: cause,
                since: cause == .upstream || cause == .cache ? since : now)
        }
    }
}
