import Chat
import Wire

/// The busiest conversations and the slowest readers, for the operator's page.
package struct Overview: Sendable {
    package struct Conversation: Sendable {
        package var id: String
        package var watchers: Int
        /// Deltas queued for its watchers since the last look, and since it came into memory.
        package var news: Int
        package var accounting: Accounting
    }

    package struct Reader: Sendable {
        package var session: SessionID
        package var user: String
        /// Bytes that wait for it.
        package var waiting: Int
        /// Whether its socket does not take everything.
        package var isBlocked: Bool
        /// Deltas that became part of a gap for it.
        package var coalesced: Int
        package var subscriptions: Int
    }

    /// Sorted by deltas since the last look, then by all deltas.
    package var busiest: [Conversation] = []
    /// Sorted by waiting bytes, then by deltas that became gaps.
    package var slowest: [Reader] = []
    package var blocked = 0
    package var totals: Totals
}

extension EngineReport {
    /// Looks at everything in memory. `news` counts from the last call of any caller.
    /// - Parameter limit: how many conversations and readers to list.
    /// - Complexity: O(streams + sessions)
    package func overview(_ limit: Int) -> Overview {
        var busiest = Leaders<Stream>(limit)
        for stream in streams.values {
            let accounting = stream.accounting
            let news = accounting.deltas.accepted - accounting.seen
            accounting.seen = accounting.deltas.accepted
            if accounting.deltas.accepted > 0 {
                busiest.take(stream, news, accounting.deltas.accepted)
            }
        }
        var totals = totalsWithoutSessions
        var slowest = Leaders<Session>(limit)
        var blocked = 0
        for session in sessions.values {
            totals.add(session)
            let isBlocked = session.lane.isBlocked
            if isBlocked { blocked += 1 }
            if isBlocked || session.coalesced > 0 {
                slowest.take(session, session.lane.outbox.backlog, session.coalesced)
            }
        }
        var overview = Overview(totals: totals)
        overview.blocked = blocked
        overview.busiest = busiest.entries.map {
            Overview.Conversation(
                id: $0.element.id, watchers: $0.element.subscribers.count, news: $0.first,
                accounting: $0.element.accounting.deltas)
        }
        overview.slowest = slowest.entries.map {
            let session = $0.element
            return Overview.Reader(
                session: session.id, user: session.user ?? "", waiting: $0.first,
                isBlocked: session.lane.isBlocked, coalesced: session.coalesced,
                subscriptions: session.subscriptions.count)
        }
        return overview
    }
}

/// The first few by two numbers, largest first.
private struct Leaders<Element> {
    private(set) var entries: [(element: Element, first: Int, second: Int)] = []
    private let limit: Int

    init(_ limit: Int) { self.limit = limit }

    mutating func take(_ element: Element, _ first: Int, _ second: Int) {
        if entries.count == limit, let last = entries.last,
            (last.first, last.second) >= (first, second)
        {
            return
        }
        let place =
            entries.firstIndex { ($0.first, $0.second) < (first, second) } ?? entries.count
        entries.insert((element, first, second), at: place)
        if entries.count > limit { entries.removeLast() }
    }
}
