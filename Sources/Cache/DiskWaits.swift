import Synchronization

/// How long the disk lets this process wait: when the commit and the checkpoint under way began. A
/// disk that hangs returns no error, so this alone tells it from one that is idle. From any thread.
package final class DiskWaits: Sendable {
    /// What waits.
    enum Work { case commit, checkpoint }

    private struct State {
        var commit: ContinuousClock.Instant?
        var checkpoint: ContinuousClock.Instant?
    }

    /// How much longer than a commit a checkpoint may take: it brings up to 32 MiB to the disk.
    private static let share = 6

    private let state = Mutex(State())

    /// Works, and is known to wait meanwhile.
    func during<Value, Failure: Error>(
        _ work: Work, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let path: WritableKeyPath<State, ContinuousClock.Instant?> =
            work == .commit ? \.commit : \.checkpoint
        let now = ContinuousClock.now
        state.withLock { $0[keyPath: path] = now }
        defer { state.withLock { $0[keyPath: path] = nil } }
        return try body()
    }

    /// For how long the commit under way has waited, or the checkpoint by its share; nil if neither
    /// is under way.
    package func longest(at now: ContinuousClock.Instant = .now) -> Duration? {
        let state = state.withLock { $0 }
        let waits = [
            state.commit.map { now - $0 }, state.checkpoint.map { (now - $0) / Self.share },
        ]
        return waits.compactMap { $0 }.max()
    }
}
