import Synchronization

/// Passes jobs from other threads to the loop, in the order in which they were posted. The posters
/// bound its length (each waits for an answer or has its own limit). The lock is held only for an
/// append or a swap; the loop is woken only if the mailbox was empty.
final class Mailbox: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job] = []
        var isClosed = false
    }

    /// A mutex re-wraps a closure that is directly its value on every access.
    private struct Bell {
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    /// Separate from the lock of the jobs: the loop takes the jobs as soon as it is woken, and on a
    /// shared core would find the poster still holding that lock.
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

    /// Whether no job waits.
    var isEmpty: Bool { state.withLock { $0.jobs.isEmpty } }

    /// Takes the waiting jobs; reuses the memory of `spare` for later ones.
    func take(into spare: inout [Job]) {
        spare.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.jobs, &spare) }
    }

    /// Drops all jobs from now on: the loop that would run them has ended.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.jobs = []
        }
        bell.withLock { $0.wake = nil }
    }
}
