import Synchronization
import TestSupport

/// What the logs of a soak have had, as their writers were told. It drops what nobody can still
/// hold, so that an hour of it takes no more than some minutes. Any thread's.
final class Chronicle: Sendable {
    /// For how long a value that was written over may still be told to somebody, and a place be
    /// held that the origin has trimmed. Nobody is away or behind for half as long.
    private static let patience = Duration.seconds(180)

    private struct Book {
        var truth = Truth()
        var epoch = ""
        /// Each change up to here is known.
        var known = 0
        /// Where the log stood when.
        var stands: [(at: ContinuousClock.Instant, rev: Int, floor: Int)] = []

        mutating func advance() {
            while truth.log?.changes[known + 1] != nil { known += 1 }
        }
    }

    private struct State {
        var books: [String: Book] = [:]
        var faults: [String] = []
    }

    private let state = Mutex(State())

    /// What its writers were told that contradicts each other.
    var faults: [String] { state.withLock { $0.faults } }

    /// The changes of all logs.
    var changeCount: Int { state.withLock { $0.books.values.reduce(0) { $0 + $1.known } } }

    func learn(head: JSONValue, of conversation: String) {
        change(conversation) { book in
            try book.truth.learn(head: head)
            let epoch = head["epoch"].string ?? ""
            guard book.epoch == epoch || book.epoch.isEmpty else {
                throw TestFailure("the log has another epoch")
            }
            book.epoch = epoch
            book.stands.append(
                (.now, try head.required("rev"), try head.required("floor")))
        }
    }

    func learn(record: JSONValue, of conversation: String) {
        change(conversation) { try $0.truth.learn(record: record, epoch: $0.epoch) }
    }

    func learn(message: JSONValue, of conversation: String) {
        change(conversation) { try $0.truth.learn(message: message, epoch: $0.epoch) }
    }

    private func change(_ conversation: String, _ change: (inout Book) throws -> Void) {
        state.withLock { state in
            do {
                try change(&state.books[conversation, default: Book()])
                state.books[conversation]?.advance()
            } catch {
                if state.faults.count < 10 { state.faults.append("\(conversation): \(error)") }
            }
        }
    }

    /// Whether all changes up to `rev` are known.
    func knows(_ conversation: String, upTo rev: Int) -> Bool {
        state.withLock { $0.books[conversation]?.known ?? 0 >= rev }
    }

    /// What the oracle finds, who sees the log as it is known now.
    func judge(_ conversation: String, by look: (Oracle) -> [String]) -> [String] {
        state.withLock { look(Oracle($0.books[conversation]?.truth ?? Truth())) }
    }

    /// Lets go of what lies too far back.
    func forget() {
        let past = ContinuousClock.now - Self.patience
        state.withLock { state in
            for (conversation, book) in state.books {
                guard let last = book.stands.lastIndex(where: { $0.at < past }) else { continue }
                let stand = book.stands[last]
                state.books[conversation]?.stands.removeFirst(last)
                state.books[conversation]?.truth.forget(below: stand.rev, floor: stand.floor)
            }
        }
    }
}
