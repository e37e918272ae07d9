import Cache
import Dispatch
import Engine

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

    /// The thread has nothing to do; it takes the first question that is still wanted.
    func goOn(_ isWanted: (Question) -> Bool) {
        while !isReading, let question = waiting.popFirst() {
            guard isWanted(question) else { continue }
            isReading = true
            desk.read(question)
        }
        // A slice keeps what was taken from it.
        if waiting.isEmpty { waiting = [] }
    }

    /// The thread has delivered.
    func answered() { isReading = false }

    /// Returns when nothing more will be delivered.
    func stop() { desk.stop() }

    // Safety: `reader` is used on `queue` alone, which is serial.
    private final class Desk: @unchecked Sendable {
        private let reader: Reader
        private let deliver: @Sendable (Question, Result<Answer, any Error>) -> Void
        private let queue = DispatchQueue(label: "gapless.readings")

        init(
            _ reader: Reader,
            _ deliver: @escaping @Sendable (Question, Result<Answer, any Error>) -> Void
        ) {
            self.reader = reader
            self.deliver = deliver
        }

        func read(_ question: Question) {
            queue.async { [self] in
                deliver(question, Result { try reader.answer(question.query) })
            }
        }

        func stop() { queue.sync {} }
    }
}
