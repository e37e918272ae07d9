import Synchronization

/// The way into the loop from other threads: jobs in the order in which they were posted. How many
/// wait is bounded by those who post (each waits for an answer or has a limit of its own). The lock
/// is held for an append or a swap; the loop is woken only when the box was empty.
final class Mailbox: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job] = []
        var isClosed = false
    }

    /// A closure that is itself the value of a mutex is wrapped once more by every access.
    private struct Bell {
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    /// A lock apart from that of the jobs: the loop takes them as soon as it is woken, and where it
    /// shares a core with the poster it would find their lock held.
    private let bell = Mutex(Bell())

    /// - Parameter wake: called on the posting thread, never after `close()` has returned.
    func open(wake: @escaping @Sendable () -> Void) {
        bell.withLock { $0.wake = wake }
    }

    func post(_ job: @escaping Job) {
        let isFirst = state.withLock { state in
            guard !state.isClosed else { return false }
            state.jobs.append(job)
            return state.jobs.count == 1
        }
        if isFirst { bell.withLock { $0.wake?() } }
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
            state.jobs = []
        }
        bell.withLock { $0.wake = nil }
    }
}
