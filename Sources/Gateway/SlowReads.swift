import Cache
import Dispatch
import Engine
import Glibc
import Ports
import Synchronization

/// Reads that would hold the loop up, one after the other on a thread of their own: a holder of a
/// thousand runs takes some milliseconds, and meanwhile nobody's message is to wait. Those whose
/// turn has not come wait with `TurnRunner`, on the loop, where they can still be given up.
///
/// Owned by the driver and used on the loop; the thread has a reader of its own.
final class SlowReads {
    private let desk: Desk

    /// - Parameters:
    ///   - reader: used by the thread alone from here on.
    ///   - deliver: called on the thread with each answer.
    init(
        _ reader: Reader,
        deliver: @escaping @Sendable (CacheRead, Result<Answer, any Error>) -> Void
    ) {
        desk = Desk(reader, deliver)
    }

    /// The thread reads it; the next one may begin when it has delivered.
    func begin(_ read: CacheRead) { desk.read(read) }

    /// Returns when nothing more will be delivered.
    func stop() { desk.stop() }

    // Safety: `reader` is used on the thread alone, and `next` is a mutex.
    private final class Desk: @unchecked Sendable {
        private enum Command { case read(CacheRead), stop }

        private let reader: Reader
        private let deliver: @Sendable (CacheRead, Result<Answer, any Error>) -> Void
        private let next = Mutex<Command?>(nil)
        private let isCalled = DispatchSemaphore(value: 0)
        private let queue = DispatchQueue(label: "gapless.reads")

        init(
            _ reader: Reader,
            _ deliver: @escaping @Sendable (CacheRead, Result<Answer, any Error>) -> Void
        ) {
            self.reader = reader
            self.deliver = deliver
            queue.async { [self] in run() }
        }

        func read(_ read: CacheRead) { call(.read(read)) }

        func stop() {
            call(.stop)
            queue.sync {}
        }

        private func call(_ command: Command) {
            next.withLock { $0 = command }
            isCalled.signal()
        }

        /// It has the thread until the end, since one that has stood back can't come forward again:
        /// where cores are short it weighs a tenth of the others. The loop comes first, and the
        /// commits that messages wait for.
        private func run() {
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
            while true {
                isCalled.wait()
                guard case .read(let read) = next.withLock({ $0.take() }) else { return }
                deliver(read, Result { try reader.answer(read.query) })
            }
        }
    }
}
