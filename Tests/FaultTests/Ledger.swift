import Synchronization
import TestSupport

/// When the origin acknowledged which change, by all writers of a run: what the clients must know
/// of a while later.
final class Ledger: Sendable {
    struct Entry: Sendable {
        let message: JSONValue
        let at: ContinuousClock.Instant

        var seq: Int { message["seq"].int ?? 0 }
        var rev: Int { message["rev"].int ?? 0 }
    }

    private struct State {
        var entries: [String: [Entry]] = [:]
        /// What was acknowledged from then on may have been lost.
        var doubtedFrom: ContinuousClock.Instant?
        /// What is acknowledged from then on counts again.
        var trustedFrom: ContinuousClock.Instant?

        func isDoubted(_ entry: Entry) -> Bool {
            guard let doubtedFrom, entry.at >= doubtedFrom else { return false }
            return trustedFrom.map { entry.at < $0 } ?? true
        }
    }

    private let state = Mutex(State())
    private let refusals = Atomic<Int>(0)

    /// - Parameter message: as it was answered.
    func note(_ conversation: String, _ message: JSONValue) {
        let entry = Entry(message: message, at: .now)
        state.withLock { $0.entries[conversation, default: []].append(entry) }
    }

    /// A call had to be made again.
    func noteRefusal() { refusals.add(1, ordering: .relaxed) }

    var refusalCount: Int { refusals.load(ordering: .relaxed) }

    /// The newest change that was acknowledged.
    func newest(_ conversation: String) -> Int {
        state.withLock { $0.entries[conversation]?.map(\.rev).max() ?? 0 }
    }

    func all(_ conversation: String) -> [Entry] {
        state.withLock { $0.entries[conversation] ?? [] }
    }

    /// What was acknowledged before `moment` and lies above `rev`.
    func overdue(_ conversation: String, at moment: ContinuousClock.Instant, above rev: Int)
        -> [Entry]
    {
        state.withLock { state in
            // Writers are told out of order by a few calls at most.
            (state.entries[conversation]?.suffix(2000) ?? []).filter {
                $0.rev > rev && $0.at < moment && !state.isDoubted($0)
            }
        }
    }

    // MARK: an origin that loses what it acknowledged

    /// From here on, and since a second before, what is acknowledged may be lost.
    func doubt() { state.withLock { $0.doubtedFrom = .now - .seconds(1) } }

    /// From here on nothing is lost any more.
    func trust() { state.withLock { $0.trustedFrom = .now } }
}
