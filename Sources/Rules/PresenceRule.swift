import Chat
import Ports
import Wire

/// Whether a user is there, from what the origin keeps at one moment of its clock. One rule for
/// every origin.
package struct PresenceRule: Sendable, Hashable {
    /// Milliseconds for which a renewal holds.
    package var lease: Int64
    /// Milliseconds for which users are unknown after that.
    package var grace: Int64

    package init(lease: Int64, grace: Int64) {
        self.lease = lease
        self.grace = grace
    }

    /// What is true of a user.
    package struct Judgement: Sendable, Hashable {
        package var state: PresenceState
        /// Since when, by the origin's clock.
        package var since: Int64?
        /// When it may be another though nobody says anything; nil: never.
        package var until: Int64?

        package init(_ state: PresenceState, since: Int64?, until: Int64?) {
            self.state = state
            self.since = since
            self.until = until
        }

        /// The user as answers and events show it.
        package func shown(_ user: String) -> UserPresence {
            UserPresence(
                user: user, state: state, since: since.map { Timestamp(milliseconds: $0) })
        }
    }

    /// Whether the gateway's lease holds.
    package func holds(renewed: Int64?, at now: Int64) -> Bool {
        renewed.map { $0 + lease >= now } ?? false
    }

    /// Judges one user.
    /// - Parameter reading: What the origin has of the user, when that was read, and whether it may
    ///   have lost something before.
    package func judge(_ user: ID, _ reading: PresenceReading) -> Judgement {
        let entries = reading.users[user] ?? []
        let now = reading.now
        var present: Int64?
        var away: Int64?
        // When a gateway that may still have the user was heard last, and the latest end.
        var lost: Int64?
        var lostPresent: Int64?
        var ended: Int64?
        var until: Int64?
        func changes(at moment: Int64) { until = min(until ?? moment, moment) }
        for entry in entries {
            // Its gateway has said all its users since the origin may have lost something, and not
            // this one: that it ended was lost.
            if entry.isForgotten, entry.end == nil { continue }
            if let end = entry.end {
                guard end.until > now else {
                    ended = max(ended ?? end.at, end.at)
                    continue
                }
                changes(at: end.until)
            } else if !holds(renewed: entry.renewed, at: now) {
                // A gateway that comes back says its users before it renews.
                let heard = max(entry.renewed ?? entry.said, entry.said)
                guard heard + lease + grace >= now else {
                    ended = max(ended ?? heard, heard)
                    continue
                }
                changes(at: heard + lease + grace + 1)
                lost = max(lost ?? heard, heard)
                if !entry.isAway { lostPresent = max(lostPresent ?? heard, heard) }
                continue
            }
            if entry.isAway {
                away = min(away ?? entry.since, entry.since)
            } else {
                present = min(present ?? entry.since, entry.since)
            }
        }
        if let present { return Judgement(.present, since: present, until: until) }
        if let away {
            return Judgement(.away, since: max(away, lostPresent ?? away), until: until)
        }
        if let lost { return Judgement(.unknown, since: lost, until: until) }
        guard now >= reading.isYoungUntil else {
            return Judgement(.unknown, since: reading.eraBegan, until: reading.isYoungUntil)
        }
        return Judgement(.absent, since: ended, until: nil)
    }
}
