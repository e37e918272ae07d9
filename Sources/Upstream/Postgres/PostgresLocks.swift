import JSON
import Ports
import Synchronization
import Wire

/// Conversations whose lock our writes wait for, and the holders, for health: a gateway can't end
/// an application's open transaction.
final class PostgresLocks: Sendable {
    private struct Entry {
        var holders: String?
        /// Whether a write timed out.
        var isBlocked = false
        var at: ContinuousClock.Instant
    }

    /// How long health shows it after the last timed out write.
    private static let memory = Duration.seconds(30)

    private let pool: PostgresPool
    private let limit: Duration
    private let entries = Mutex<[ID: Entry]>([:])

    init(_ pool: PostgresPool, limit: Duration) {
        self.pool = pool
        self.limit = limit
    }

    /// A write of the conversation is waiting: asks the server for the lock's holders.
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

    /// A write timed out.
    func blocked(_ conversation: ID?) {
        guard let conversation else { return }
        entries.withLock {
            $0[conversation, default: Entry(at: .now)].isBlocked = true
            $0[conversation]?.at = .now
        }
    }

    /// Writes succeeded.
    func passed(_ conversations: [ID]) {
        entries.withLock { entries in
            guard !entries.isEmpty else { return }
            for conversation in conversations { entries[conversation] = nil }
        }
    }

    /// A blocked conversation and its holders; nil if there is none.
    var trouble: UpstreamNotice? {
        let blocked = entries.withLock { entries in
            entries = entries.filter { $0.value.at + Self.memory > .now }
            return entries.filter(\.value.isBlocked).min { $0.key.text < $1.key.text }
        }
        guard let (conversation, entry) = blocked else { return nil }
        let holder = entry.holders ?? "another transaction"
        return UpstreamNotice(
            .conversationLocked,
            "write to conversation \(conversation.text): locked for more than \(limit) by"
                + " \(holder)")
    }
}
