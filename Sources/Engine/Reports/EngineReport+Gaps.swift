import Chat
import Ports
import Wire

/// A gap that the gateway has to fill: an entry of `GET /v1/gaps`.
package struct OpenGap: Sendable, Hashable {
    /// The progress of filling it.
    package enum State: String, Sendable, Hashable {
        /// Not asked for yet.
        case queued
        /// Asked for.
        case fetching
        /// The feed is down, or the origin did not answer and the backoff lasts.
        case waiting
        /// The origin failed many times in a row; retries are far apart.
        case gaveUp = "gave_up"
    }

    package var conversation: String
    package var gap: Gap
    package var state: State
}

/// The gateway's open gaps and fetches, as numbers.
package struct SyncFigures: Sendable, Hashable {
    package var openGaps = 0
    package var missing = 0
    /// In seconds.
    package var oldestGapAge: Double = 0
    package var queued = 0
    package var fetching = 0

    package init() {}
}

extension EngineReport {
    /// Every open gap, oldest first: what is above a stream's position and not held, what
    /// subscribers are owed, and what could not be stored.
    /// - Complexity: O(n log n) in streams, and O(subscribers) of those that owe something.
    package func openGaps() -> [OpenGap] {
        var gaps: [OpenGap] = []
        for stream in streams.values.inOrder {
            guard let replica = stream.replica, let state = stream.state else { continue }
            if replica.copy.isDetached {
                gaps += self.gaps(
                    Coverage.closed(state.head.floor, state.head.seq), .cache, stream)
                continue
            }
            var lacking = Coverage()
            if !replica.isLive {
                lacking = Coverage.closed(
                    max(state.position.seq + 1, state.head.floor), state.head.seq)
            }
            if replica.isOwed {
                for subscriber in stream.subscribers { lacking = lacking.union(subscriber.owed) }
            }
            lacking = lacking.subtracting(replica.copy.held)
            if !lacking.isEmpty { gaps += self.gaps(lacking, .upstream, stream) }
        }
        return gaps.sorted { $0.gap.since < $1.gap.since }
    }

    private func gaps(_ places: Coverage, _ cause: GapCause, _ stream: Stream) -> [OpenGap] {
        guard let replica = stream.replica, let state = stream.state else { return [] }
        return stream.position(state, at: now).gaps(places, cause).map {
            let asked = replica.inFlight.places.intersection(
                Coverage.closed($0.after + 1, $0.before - 1))
            let isAsked = !asked.isEmpty || replica.inFlight.hasSteps
            let isWaiting = replica.backoff.isWaiting || replica.isBroken || replica.copy.isDetached
            let progress: OpenGap.State =
                isWaiting
                ? replica.backoff.hasGivenUp ? .gaveUp : .waiting
                : isAsked ? .fetching : .queued
            return OpenGap(conversation: stream.id, gap: $0, state: progress)
        }
    }

    /// The same as numbers.
    package func syncFigures() -> SyncFigures {
        var figures = SyncFigures()
        guard isElsewhere else { return figures }
        let gaps = openGaps()
        figures.openGaps = gaps.count
        figures.missing = gaps.reduce(0) { $0 + ($1.gap.missing ?? 0) }
        if let oldest = gaps.first {
            figures.oldestGapAge =
                Double(now.milliseconds - oldest.gap.since.milliseconds) / 1000
        }
        figures.queued = queuedFetches
        figures.fetching = fetchesInFlight
        return figures
    }
}
