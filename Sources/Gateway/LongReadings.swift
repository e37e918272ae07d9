import Cache
import Dispatch
import Engine
import Glibc
import Ports
import Synchronization

/// Answers the questions that would hold the loop up, one after the other on a thread of their own:
/// a holder of a thousand runs takes some milliseconds, and meanwhile nobody's message is to wait.
/// Those whose turn has not come wait here, on the loop, where they can still be given up.
///
/// Owned by the driver and used on the loop; the thread has a reader of its own.
final class LongReadings {
    struct Question: Sendable {
        let token: UInt64
        let query: Query
        /// When it had been decided.
        let since: ContinuousClock.Instant
    }

    private let desk: Desk
    private var waiting: [Question].SubSequence = []
    private var isReading = false

    /// - Parameters:
    ///   - reader: used by the thread alone from here on.
    ///   - deliver: called on the thread with each answer; has `answered` called on the loop.
    init(
        _ reader: Reader,
        deliver: @escaping @Sendable (Question, Result<Answer, any Error>) -> Void
    ) {
        desk = Desk(reader, deliver)
    }

    func append(_ question: Question) { waiting.append(question) }

    /// Whether `next` has one.
    var hasNext: Bool { !isReading && !waiting.isEmpty }

    /// The question whose turn has come, while the thread has nothing to do.
    func next() -> Question? {
        guard hasNext, let question = waiting.popFirst() else { return nil }
        // A slice keeps what was taken from it.
        if waiting.isEmpty { waiting = [] }
        return question
    }

    /// The thread reads it; `answered` comes before the next one.
    func begin(_ question: Question) {
        isReading = true
        desk.read(question)
    }

    /// The thread has delivered.
    func answered() { isReading = false }

    /// Returns when nothing more will be delivered.
    func stop() { desk.stop() }

    // Safety: `reader` is used on the thread alone, and `next` is a mutex.
    private final class Desk: @unchecked Sendable {
        private enum Errand { case read(Question), stop }

        private let reader: Reader
        private let deliver: @Sendable (Question, Result<Answer, any Error>) -> Void
        private let next = Mutex<Errand?>(nil)
        private let isCalled = DispatchSemaphore(value: 0)
        private let queue = DispatchQueue(label: "gapless.readings")

        init(
            _ reader: Reader,
            _ deliver: @escaping @Sendable (Question, Result<Answer, any Error>) -> Void
        ) {
            self.reader = reader
            self.deliver = deliver
            queue.async { [self] in run() }
        }

        func read(_ question: Question) { call(.read(question)) }

        func stop() {
            call(.stop)
            queue.sync {}
        }

        private func call(_ errand: Errand) {
            next.withLock { $0 = errand }
            isCalled.signal()
        }

        /// It has the thread until the end, since one that has stood back can't come forward again:
        /// where cores are short it weighs a tenth of the others. The loop comes first, and the
        /// commits that messages wait for.
        private func run() {
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
            while true {
                isCalled.wait()
                guard case .read(let question) = next.withLock({ $0.take() }) else { return }
                deliver(question, Result { try reader.answer(question.query) })
            }
        }
    }
}
