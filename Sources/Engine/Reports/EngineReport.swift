import Chat
import Ports
import Wire

/// A view of the engine's memory at one moment, for health, metrics and operators: numbers, gaps,
/// the overview, and what became of a message. Made on demand and read at once, before the engine
/// goes on. It decides nothing, and the engine does not know it.
package struct EngineReport {
    let now: Timestamp
    let sessions: SessionRegistry
    let streams: StreamRegistry
    let journal: Journal?
    /// Deltas counted so far, without those still queued.
    package let settledAccounting: Accounting
    /// Other counters so far.
    package let figures: Figures
    let status: UpstreamStatus
    /// Whether logs live elsewhere.
    let isElsewhere: Bool
    /// Questions to the origin that wait; below, those in flight.
    let queuedFetches: Int
    let fetchesInFlight: Int

    init(of connections: Connections, _ sync: Sync) {
        now = sync.now
        sessions = connections.registry
        streams = sync.streams
        journal = connections.journal
        settledAccounting = sync.fanout.delivery.accounting
        var figures = sync.tally.figures
        figures.pacing = sync.fanout.pacing.counters
        figures.shed = sync.fanout.delivery.shedCount
        self.figures = figures
        status = sync.status
        isElsewhere = sync.mirrors
        queuedFetches = sync.fetcher.queued
        fetchesInFlight = sync.fetcher.inFlight
    }
}

extension EngineReport {
    /// Whether the conversation has something to send, and pacing delays it.
    package func keepsBack(_ conversation: String) -> Bool {
        streams[conversation.id]?.pace.isHeld ?? false
    }

    /// How many connections there are.
    /// - Complexity: O(1)
    package var sessionCount: Int { sessions.count }

    /// The upstream's state, and since when.
    package var upstream: (state: UpstreamState, since: Timestamp) {
        (status.state, status.since)
    }

    /// Since when the upstream's link is down, counted from the start; nil while it is up, and if
    /// the store is the origin.
    package var unlinkedSince: Timestamp? { status.unlinkedSince }

    /// Counted on demand: health is asked a few times a minute, changes come by the thousand.
    /// - Complexity: O(sessions)
    package func totals() -> Totals {
        sessions.values.reduce(into: totalsWithoutSessions) { $0.add($1) }
    }

    /// Subscriptions whose session is closing or gone. There must be none, since nothing would ever
    /// end them.
    /// - Complexity: O(subscriptions)
    package var strandedSubscriptions: Int {
        streams.values.reduce(0) { count, stream in
            count
                + stream.subscribers.count {
                    $0.session.isClosing || sessions[$0.session.id] !== $0.session
                }
        }
    }

    var totalsWithoutSessions: Totals {
        Totals(
            sessions: sessions.count, subscriptions: 0, streams: streams.count, outboxBytes: 0,
            accounting: settledAccounting)
    }

    /// The accounting of each conversation in memory.
    /// - Complexity: O(n log n) in streams, and O(queued events).
    package func conversationAccounting() -> [(conversation: String, accounting: Accounting)] {
        var queued: [ObjectIdentifier: Int] = [:]
        for session in sessions.values {
            for event in session.lane.outbox.events {
                if let accounting = event.accounting {
                    queued[ObjectIdentifier(accounting), default: 0] += event.deltas
                }
            }
        }
        return streams.values.inOrder.map { stream in
            var accounting = stream.accounting.deltas
            accounting.queued = queued[ObjectIdentifier(stream.accounting)] ?? 0
            return (stream.id, accounting)
        }
    }
}
