import Synchronization

/// When the origin acknowledged which change, by all writers of a run: what the clients must know
/// of a while later.
package final class Ledger: Sendable {
    package struct Entry: Sendable {
        package let message: JSONValue
        package let at: ContinuousClock.Instant

        package var seq: Int { message["seq"].int ?? 0 }
        package var rev: Int { message["rev"].int ?? 0 }
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
    private let limit: Int
    private let onNote: @Sendable (_ conversation: String, _ message: JSONValue) -> Void

    /// - Parameters:
    ///   - limit: how many changes of a conversation it keeps at least, the newest; twice as many
    ///     at most.
    ///   - onNote: called with each change as well.
    package init(
        keeps limit: Int = .max / 2,
        onNote: @escaping @Sendable (_ conversation: String, _ message: JSONValue) -> Void = {
            _, _ in
        }
    ) {
        self.limit = limit
        self.onNote = onNote
    }

    /// - Parameter message: as it was answered.
    package func note(_ conversation: String, _ message: JSONValue) {
        let entry = Entry(message: message, at: .now)
        onNote(conversation, message)
        state.withLock { state in
            state.entries[conversation, default: []].append(entry)
            let count = state.entries[conversation]?.count ?? 0
            if count > 2 * limit { state.entries[conversation]?.removeFirst(count - limit) }
        }
    }

    /// A call had to be made again.
    package func noteRefusal() { refusals.add(1, ordering: .relaxed) }

    package var refusalCount: Int { refusals.load(ordering: .relaxed) }

    /// The newest change that was acknowledged.
    package func newest(_ conversation: String) -> Int {
        state.withLock { $0.entries[conversation]?.map(\.rev).max() ?? 0 }
    }

    package func all(_ conversation: String) -> [Entry] {
        state.withLock { $0.entries[conversation] ?? [] }
    }

    /// What was acknowledged before `moment` and lies above `rev`.
    package func overdue(_ conversation: String, at moment: ContinuousClock.Instant, above rev: Int)
        -> [Entry]
    {
        state.withLock { state in
            // Writers are told out of order by a few calls at most.
            (state.entries[conversation]?.suffix(2000) ?? []).filter {
                $0.rev > rev && $0.at < moment && !state.isDoubted($0)
            }
        }
    }

    /// What was acknowledged before `moment`, and the holder neither has nor knows to be missing,
    /// though it was not told that its conversation is open.
    package func silent(
        _ conversation: String, to holder: Holder, at moment: ContinuousClock.Instant
    ) -> [Entry] {
        guard holder.isSubscribed, !holder.isOpen else { return [] }
        let top = holder.head["seq"].int ?? 0
        return overdue(conversation, at: moment, above: holder.asOf).filter { entry in
            let isKnownMissing = entry.seq <= top && !holder.runs.contains(entry.seq)
            return holder.held[entry.seq]?["rev"].int ?? 0 < entry.rev && !isKnownMissing
        }
    }

    // MARK: an origin that loses what it acknowledged

    /// From here on, and since a second before, what is acknowledged may be lost.
    package func doubt() { state.withLock { $0.doubtedFrom = .now - .seconds(1) } }

    /// From here on nothing more is lost.
    package func trust() { state.withLock { $0.trustedFrom = .now } }
}
