import JSON
import Synchronization
import Wire

/// Which conversations our writes wait for, and who holds them, for health: the transaction of an
/// application that stays open is nothing that we can end.
final class PostgresLocks: Sendable {
    private struct Entry {
        var holders: String?
        /// Whether a write was given up.
        var isBlocked = false
        var at: ContinuousClock.Instant
    }

    /// How long it is told after the last write that was given up.
    private static let memory = Duration.seconds(30)

    private let pool: PostgresPool
    private let limit: Duration
    private let entries = Mutex<[ID: Entry]>([:])

    init(_ pool: PostgresPool, limit: Duration) {
        self.pool = pool
        self.limit = limit
    }

    /// A write of the conversation waits; asks the server for whom.
    /// - Parameter process: the server's process that waits.
    func ask(_ conversation: ID?, heldFrom process: Int) {
        guard let conversation else { return }
        entries.withLock { $0[conversation, default: Entry(at: .now)].at = .now }
        var question = JSONWriter()
        question.beginObject()
        question.member("q", string: "blocked")
        question.member("pid", int: process)
        question.endObject()
        pool.read(question.bytes) { [weak self] result in
            guard case .success(let answer) = result else { return }
            let processes = (answer["pids"]?.array ?? []).compactMap(\.int).filter { $0 > 0 }
            let prepared = (answer["gids"]?.array ?? []).compactMap(\.string)
            let holders =
                processes.map { "process \($0)" } + prepared.map { "prepared transaction '\($0)'" }
            guard !holders.isEmpty else { return }
            self?.entries.withLock {
                $0[conversation]?.holders = holders.joined(separator: ", ")
            }
        }
    }

    /// A write was given up.
    func blocked(_ conversation: ID?) {
        guard let conversation else { return }
        entries.withLock {
            $0[conversation, default: Entry(at: .now)].isBlocked = true
            $0[conversation]?.at = .now
        }
    }

    /// Writes have got through.
    func passed(_ conversations: [ID]) {
        entries.withLock { entries in
            guard !entries.isEmpty else { return }
            for conversation in conversations { entries[conversation] = nil }
        }
    }

    /// The conversation that is blocked, and by whom; nil if none is.
    var trouble: String? {
        let blocked = entries.withLock { entries in
            entries = entries.filter { $0.value.at + Self.memory > .now }
            return entries.filter(\.value.isBlocked).min { $0.key.text < $1.key.text }
        }
        guard let (conversation, entry) = blocked else { return nil }
        let holder = entry.holders ?? "another transaction"
        return "write to conversation \(conversation.text): locked for more than \(limit) by"
            + " \(holder) (end that transaction; writers of the conversation are refused until"
            + " then)"
    }
}
