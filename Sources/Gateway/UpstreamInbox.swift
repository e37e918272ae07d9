import Synchronization
import Upstream
import WebSockets

/// Outputs of the upstream on their way to the loop, in the order in which they were delivered:
/// each batch is posted, but for those that are delivered on the loop's own thread while it asks.
final class UpstreamInbox: Sendable {
    private struct State {
        /// The loop is asking; what was answered so far.
        var answers: [UpstreamOutput]?
        /// Batches that were posted and not taken: what comes behind them must not overtake them.
        var posted = 0
    }

    private let loop: ServiceLoop
    private let state = Mutex(State())

    init(_ loop: ServiceLoop) { self.loop = loop }

    /// Passes outputs to the loop. Any thread may call it.
    /// - Parameter take: called on the loop, unless the loop is asking.
    func deliver(
        _ outputs: [UpstreamOutput], take: @escaping @Sendable ([UpstreamOutput]) -> Void
    ) {
        let isOnLoop = loop.isCurrent
        let isGathered = state.withLock { state in
            if isOnLoop, state.posted == 0, state.answers != nil {
                state.answers?.append(contentsOf: outputs)
                return true
            }
            state.posted += 1
            return false
        }
        guard !isGathered else { return }
        loop.post { [self] in
            state.withLock { $0.posted -= 1 }
            take(outputs)
        }
    }

    /// Asks, on the loop.
    /// - Returns: what is delivered within `ask`.
    func gather(_ ask: () -> Void) -> [UpstreamOutput] {
        state.withLock { $0.answers = [] }
        ask()
        return state.withLock { state in
            defer { state.answers = nil }
            return state.answers ?? []
        }
    }
}
