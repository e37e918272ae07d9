import Synchronization
import TestSupport

/// When the origin acknowledged which change, by all writers of a run: what the clients must know
/// of a while later.
final class Ledger: Sendable {
    struct Entry: Sendable {
        let seq: Int
        let rev: Int
        let at: ContinuousClock.Instant
    }

    private let entries = Mutex<[String: [Entry]]>([:])
    private let refusals = Atomic<Int>(0)

    func note(_ conversation: String, seq: Int, rev: Int) {
        let entry = Entry(seq: seq, rev: rev, at: .now)
        entries.withLock { $0[conversation, default: []].append(entry) }
    }

    /// A call had to be made again.
    func noteRefusal() { refusals.add(1, ordering: .relaxed) }

    var refusalCount: Int { refusals.load(ordering: .relaxed) }

    /// The newest change that was acknowledged.
    func newest(_ conversation: String) -> Int {
        entries.withLock { $0[conversation]?.map(\.rev).max() ?? 0 }
    }

    /// What was acknowledged before `moment` and lies above `rev`.
    func overdue(_ conversation: String, at moment: ContinuousClock.Instant, above rev: Int)
        -> [Entry]
    {
        entries.withLock { entries in
            // Writers are told out of order by a few calls at most.
            (entries[conversation]?.suffix(2000) ?? []).filter { $0.rev > rev && $0.at < moment }
        }
    }
}
