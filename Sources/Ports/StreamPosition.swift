import Chat
import Wire

/// What an answer about a stream's messages rests on: how far the log is known, and what of it is
/// held where the stream stands.
package struct StreamPosition: Sendable {
    /// The newest change known.
    package var head: Head
    /// The stream's position: what is held has each change up to here.
    package var asOf: Int
    /// Places held as of the position; nil for all of them.
    package var held: Coverage?
    /// There may be changes above `asOf` that nobody here knows.
    package var isOpen: Bool
    package var now: Timestamp
    /// Since when the stream has lacked what it lacks.
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

    /// Whether nothing of the log up to `head` is lacking, and nothing beyond it is known.
    package func knowsAll(upTo head: Head) -> Bool {
        held == nil && !isOpen && self.head == head && asOf == head.rev
    }

    /// Gaps for the places. What the gateway lacks is as old as its lack, everything else is found
    /// now.
    package func gaps(_ places: Coverage, _ cause: GapCause) -> [Gap] {
        places.runs.map {
            Gap(
                after: $0.low - 1, before: $0.high + 1, missing: $0.count, cause: cause,
                since: cause == .upstream || cause == .cache ? since : now)
        }
    }
}
