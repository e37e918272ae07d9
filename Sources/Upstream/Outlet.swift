import Synchronization

/// The way of an upstream's outputs to the loop, in one order from any thread. It exists before
/// `start` gives the receiver, and drops everything after `close`. The receiver is called without a
/// lock, by one thread at a time: a thread that comes meanwhile leaves its outputs to that one.
final class Outlet: Sendable {
    private struct State {
        var receive: (@Sendable ([UpstreamOutput]) -> Void)?
        var waiting: [UpstreamOutput] = []
        var isDelivering = false

        /// What is delivered next; nil: nothing waits.
        mutating func next() -> (receive: @Sendable ([UpstreamOutput]) -> Void, [UpstreamOutput])? {
            isDelivering = !waiting.isEmpty && receive != nil
            guard isDelivering, let receive else { return nil }
            defer { waiting = [] }
            return (receive, waiting)
        }
    }

    private let state = Mutex(State())

    func open(_ receive: @escaping @Sendable ([UpstreamOutput]) -> Void) {
        state.withLock { $0.receive = receive }
    }

    func close() { state.withLock { $0.receive = nil } }

    /// Puts outputs in their place in the order; the next `deliver` delivers them. It calls
    /// nothing, so that a caller may hold the lock that its own order is decided under.
    func put(_ outputs: [UpstreamOutput]) {
        state.withLock { if $0.receive != nil { $0.waiting += outputs } }
    }

    /// Delivers these outputs behind all that were put before.
    func deliver(_ outputs: [UpstreamOutput] = []) {
        var next = state.withLock { state in
            if state.receive != nil { state.waiting += outputs }
            return state.isDelivering ? nil : state.next()
        }
        while let (receive, outputs) = next {
            receive(outputs)
            next = state.withLock { $0.next() }
        }
    }
}
