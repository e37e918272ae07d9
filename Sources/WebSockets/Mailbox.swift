import Synchronization

/// The way into the loop from other threads: jobs in the order in which they were posted. How many
/// wait is bounded by those who post (each waits for an answer or has a limit of its own). The lock
/// is held for an append or a swap, and for the write that wakes the loop, which happens only when
/// the box was empty.
final class Mailbox: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job] = []
        var wake: (@Sendable () -> Void)?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Parameter wake: called on the posting thread, under the lock.
    func open(wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    func post(_ job: @escaping Job) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.jobs.append(job)
            if state.jobs.count == 1 { state.wake?() }
        }
    }

    /// Takes what waits; `spare` gives its room for what comes next.
    func take(into spare: inout [Job]) {
        spare.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.jobs, &spare) }
    }

    /// From now on jobs are dropped: the loop that would run them has ended.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.wake = nil
            state.jobs = []
        }
    }
}
