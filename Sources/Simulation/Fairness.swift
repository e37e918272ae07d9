import Engine
import Ports
import Wire

/// Judges the fairness of reads. While a read waits in its class, no other user gets more of that
/// class than the reading user, except for that user's earlier debt and one turn of the other:
/// nobody waits longer than for one bounded turn of each other user, and their own.
final class Fairness: ReadWatcher {
    /// A turn, or a later charge for one.
    private struct Entry {
        let user: ID
        let cost: Int
        let instant: Duration
        let isCharge: Bool
    }

    /// The reads of one user while another read waited.
    private struct Share {
        var cost = 0
        /// The most expensive turn, and the later charges.
        var dearest = 0
        var charged = 0

        mutating func add(_ entry: Entry) {
            cost += entry.cost
            if entry.isCharge { charged += entry.cost } else { dearest = max(dearest, entry.cost) }
        }
    }

    /// Reads of each class, oldest first; the oldest ones are dropped.
    private var entries: [CacheRead.Class: [Entry]] = [:]
    private var now = Duration.zero
    private var violation: Violation?
    /// How many reads waited while other users' were done.
    private(set) var waited = 0

    func began(_ read: CacheRead, at instant: Duration) {
        now = instant
        let user = read.payer.user
        let known = entries[read.class, default: []]
        // A read that began at the same instant may have begun before this one was queued.
        var own = 0
        var others: [ID: Share] = [:]
        for entry in known where entry.instant >= read.queued {
            if entry.user == user {
                own += entry.cost
            } else if entry.instant > read.queued {
                others[entry.user, default: Share()].add(entry)
            }
        }
        if !others.isEmpty { waited += 1 }
        let owed = owed(by: user, before: read.queued, known)
        for (other, share) in others {
            let most = own + owed + share.dearest + share.charged
            guard share.cost > most, violation == nil else { continue }
            violation = Violation(
                "read \(read.token) of \(user.text) (\(read.class)) waited while \(other.text) was"
                    + " read for at a cost of \(share.cost), fair is \(most)")
        }
        note(Entry(user: user, cost: read.cost, instant: instant, isCharge: false), read.class)
    }

    /// The cost of the user's last turn before that moment, and the charges.
    private func owed(by user: ID, before moment: Duration, _ entries: [Entry]) -> Int {
        let before = entries.filter { $0.user == user && $0.instant <= moment }
        return (before.last { !$0.isCharge }?.cost ?? 0)
            + before.reduce(0) { $0 + ($1.isCharge ? $1.cost : 0) }
    }

    func charged(_ payer: Payer, _ cost: Int) {
        let entry = Entry(user: payer.user, cost: cost, instant: now, isCharge: true)
        for `class` in CacheRead.Class.allCases { note(entry, `class`) }
    }

    private func note(_ entry: Entry, _ class: CacheRead.Class) {
        entries[`class`, default: []].append(entry)
        let count = entries[`class`]?.count ?? 0
        if count > 2 * Self.kept { entries[`class`]?.removeFirst(count - Self.kept) }
    }

    private static let kept = 500

    /// Checked after every turn.
    func check() throws(Violation) {
        if let violation { throw violation }
    }
}
