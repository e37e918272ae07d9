import Engine
import Ports
import Wire

/// Judges who is read for. Between the moment when a read comes into its class and the one when it
/// begins, no other user has had more of that class than the user of this read, but for what that
/// one still owed and one turn of the other: nobody waits longer than the others' bounded turns
/// before it, and its own.
final class Fairness: ReadWatcher {
    /// A turn, or what a turn turned out to cost more.
    private struct Entry {
        let user: ID
        let cost: Int
        let instant: Duration
        let isCharge: Bool
    }

    /// What one user has had while a read waited.
    private struct Share {
        var cost = 0
        /// The dearest turn, and what was charged.
        var dearest = 0
        var charged = 0

        mutating func add(_ entry: Entry) {
            cost += entry.cost
            if entry.isCharge { charged += entry.cost } else { dearest = max(dearest, entry.cost) }
        }
    }

    /// What was read of each class, oldest first; what nobody may still wait beside is forgotten.
    private var entries: [CacheRead.Class: [Entry]] = [:]
    private var now = Duration.zero
    private var violation: Violation?
    /// How many reads had waited while others were read for.
    private(set) var waited = 0

    func began(_ read: CacheRead, at instant: Duration) {
        now = instant
        let user = read.payer.user
        let known = entries[read.class, default: []]
        // What begins at the moment in which the read came may have begun before it.
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

    /// The user's last turn before that moment, and what was charged.
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

    /// What holds after every turn.
    func check() throws(Violation) {
        if let violation { throw violation }
    }
}
