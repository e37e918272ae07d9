import Chat
import Ports
import Wire

/// What the engine counts for health and metrics.
package struct Figures: Sendable {
    /// Connections closed by the gateway, by code.
    package var closes: [CloseCode: Int] = [:]
    /// Requests answered with an error, by code.
    package var errors: [ErrorCode: Int] = [:]
    package var requests = 0
    /// Changes taken from the feed.
    package var changes = 0
    /// Times that a slow reader's events became a gap.
    package var shed = 0
    /// What pacing has counted.
    package var pacing = Pacing.Counters()
    /// Subscriptions answered, by whether the holder's log was confirmed.
    package var resumes = 0
    /// Subscriptions that were told to forget what they held.
    package var resets: [ResetReason: Int] = [:]
    /// What is yet to be said of it.
    var incidents: [Incident] = []
    /// Calls with a trace that ended, and are yet to be said.
    var traced: [TracedCall] = []
    /// Of those that were confirmed, the ones answered from memory.
    package var remembered = 0
    /// Questions to an origin that lives elsewhere.
    package var fetches: [FetchKind: Int] = [:]

    package init() {}
}

/// How many there are of what the engine holds.
package struct Totals: Sendable {
    package var sessions: Int
    package var subscriptions: Int
    package var streams: Int
    package var outboxBytes: Int
    /// With what is queued now.
    package var books: Books
}

extension Engine {
    /// What was counted so far.
    package var figures: Figures {
        var figures = counters
        figures.pacing = pacing.counters
        figures.shed = delivery.shedCount
        return figures
    }

    /// Counted on demand: health is asked for a few times a minute, changes come by the thousand.
    package func totals() -> Totals {
        var totals = Totals(
            sessions: sessions.count, subscriptions: 0, streams: streams.count, outboxBytes: 0,
            books: delivery.accounting)
        for session in sessions.values {
            totals.subscriptions += session.subscriptions.count
            totals.outboxBytes += session.lane.outbox.backlog
            totals.books.queued += session.lane.outbox.deltas
        }
        return totals
    }

    /// The books of each conversation in memory.
    /// - Complexity: O(streams + what waits in outboxes)
    package func conversationBooks() -> [(conversation: String, books: Books)] {
        var queued: [ObjectIdentifier: Int] = [:]
        for session in sessions.values {
            for event in session.lane.outbox.events {
                if let ledger = event.ledger {
                    queued[ObjectIdentifier(ledger), default: 0] += event.deltas
                }
            }
        }
        return inOrder(streams.values).map { stream in
            var books = stream.ledger.books
            books.queued = queued[ObjectIdentifier(stream.ledger)] ?? 0
            return (stream.id, books)
        }
    }

    /// In which state the upstream is, and since when.
    package var upstream: (state: UpstreamState, since: Timestamp) {
        (status.state, status.since)
    }
}
