import Chat
import Ports
import Wire

/// What can be said of all that the engine has in memory at one moment, for health, metrics and
/// operators: numbers, gaps, what stands out, and what became of a message. It is made when
/// somebody asks and read at once, before the engine goes on; it decides nothing, and the engine
/// knows none of its questions.
package struct EngineReport {
    let now: Timestamp
    let sessions: SessionRegistry
    let streams: StreamRegistry
    let journal: Journal?
    /// What was counted so far of deltas, those that wait left out.
    package let settledAccounting: Accounting
    /// What was counted so far.
    package let figures: Figures
    let status: UpstreamStatus
    /// Whether logs live elsewhere.
    let isElsewhere: Bool
    /// Questions to their origin that wait, and those on their way.
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
    /// Whether the conversation has something to say, and rests.
    package func keepsBack(_ conversation: String) -> Bool {
        streams[conversation.id]?.pace.isHeld ?? false
    }

    /// How many connections there are.
    /// - Complexity: O(1)
    package var sessionCount: Int { sessions.count }

    /// In which state the upstream is, and since when.
    package var upstream: (state: UpstreamState, since: Timestamp) {
        (status.state, status.since)
    }

    /// Since when the upstream's link is down, from the start on; nil while it is up, and where the
    /// store is the origin.
    package var unlinkedSince: Timestamp? { status.unlinkedSince }

    /// Counted on demand: health is asked for a few times a minute, changes come by the thousand.
    /// - Complexity: O(sessions)
    package func totals() -> Totals {
        sessions.values.reduce(into: totalsWithoutSessions) { $0.add($1) }
    }

    var totalsWithoutSessions: Totals {
        Totals(
            sessions: sessions.count, subscriptions: 0, streams: streams.count, outboxBytes: 0,
            accounting: settledAccounting)
    }

    /// The accounting of each conversation in memory.
    /// - Complexity: O(streams + what waits in outboxes)
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
