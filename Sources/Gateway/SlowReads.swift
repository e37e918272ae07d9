import Cache
import Dispatch
import Engine
import Glibc
import Ports
import Synchronization

/// Reads that would block the loop, one at a time on a thread of their own: a `have` of a thousand
/// runs takes some milliseconds, for which no message should wait. Other slow reads wait in
/// `TurnRunner`, on the loop, where they can still be dropped.
///
/// Owned by the driver and used on the loop; the thread has its own reader.
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

    /// Starts the read on the thread; the next one may begin when it has delivered.
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

        /// One block that keeps its thread until the end, since a thread that has lowered its
        /// priority can't raise it again: with few cores it gets a tenth of the others' weight. The
        /// loop comes first, and the commits that messages wait for.
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
