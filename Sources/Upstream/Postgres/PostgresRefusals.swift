import Ports
import Synchronization
import Wire

/// Writes that the server refused one by one, in transactions that it took otherwise, as a trigger
/// of an application does: for health and the log. Nobody can tell when such a cause is gone, so
/// health names one until a write of that conversation passes, or until none was refused for a
/// while.
final class PostgresRefusals: Sendable {
    private struct Entry {
        var text: String
        var at: ContinuousClock.Instant
        var toldAt: ContinuousClock.Instant
    }

    private let memory: Duration
    private let entries = Mutex<[ID: Entry]>([:])

    init(memory: Duration = .seconds(30)) { self.memory = memory }

    /// - Returns: The line to log, unless the same was logged less than a minute ago.
    func refused(_ conversation: ID, _ state: String) -> UpstreamNotice? {
        let text = "write to conversation \(conversation.text) in Postgres: refused (\(state))"
        return entries.withLock { entries in
            let known = entries[conversation]
            let isTold =
                known.map { $0.text == text && $0.toldAt + Troubles.minute > .now } ?? false
            entries[conversation] = Entry(
                text: text, at: .now, toldAt: isTold ? known?.toldAt ?? .now : .now)
            return isTold ? nil : UpstreamNotice(.writeRefused, text)
        }
    }

    /// Writes succeeded.
    func passed(_ conversations: [ID]) {
        entries.withLock { entries in
            guard !entries.isEmpty else { return }
            for conversation in conversations { entries[conversation] = nil }
        }
    }

    /// The newest; nil if there is none.
    var trouble: UpstreamNotice? {
        entries.withLock { entries in
            entries = entries.filter { $0.value.at + memory > .now }
            return entries.values.max { $0.at < $1.at }
                .map { UpstreamNotice(.writeRefused, $0.text) }
        }
    }
}
