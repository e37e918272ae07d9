import Foundation
import Synchronization

/// Work beside the test, on a thread of its own: those of the test runner are as few as the
/// machine's cores, and a writer that blocks on one would hold up the reader that it writes for.
/// It begins at once; the code that started it joins it.
package final class Background<Value: Sendable>: Sendable {
    /// Asked by the work, between two pieces of it.
    package final class Stop: Sendable {
        private let isAsked = Atomic<Bool>(false)

        package var isOver: Bool { isAsked.load(ordering: .relaxed) }

        func ask() { isAsked.store(true, ordering: .relaxed) }
    }

    private let stop = Stop()
    private let outcome = Mutex<Result<Value, any Error>?>(nil)

    package init(_ work: @escaping @Sendable (Stop) throws -> Value) {
        Thread.detachNewThread { [self] in
            let result = Result { try work(stop) }
            outcome.withLock { $0 = result }
        }
    }

    deinit { stop.ask() }

    package var isDone: Bool { outcome.withLock { $0 != nil } }

    /// Asks it to end.
    package func end() { stop.ask() }

    /// What the work came to, once it is done.
    ///
    /// - Throws: what the work threw, or `TestFailure` where it goes on beyond the deadline.
    package func join(_ deadline: Deadline = .after(.seconds(60))) throws -> Value {
        _ = deadline.poll { isDone }
        guard let result = outcome.withLock({ $0 }) else {
            throw TestFailure("a background thread is not done in time")
        }
        return try result.get()
    }
}
