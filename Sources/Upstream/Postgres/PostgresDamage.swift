import Dispatch
import JSON
import Ports
import Synchronization

/// Damaged logs. A good answer about one shows only that the part it read is sound, so each log is
/// checked as a whole from time to time, until it is repaired.
final class PostgresDamage: Sendable {
    /// The logs checked at a time.
    private static let together = 16

    private let logs = DamagedLogs(
        "Postgres", withheld: "what would need that part is not served")
    private let pool: PostgresPool
    private let pause: Duration
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let queue = DispatchQueue(label: "gapless.postgres.damage")
    /// Whether a check is scheduled, and whether checking has ended.
    private let state = Mutex((isDue: false, isEnded: false))

    init(
        _ options: PostgresOptions, _ pool: PostgresPool,
        notice: @escaping @Sendable (UpstreamNotice) -> Void,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void
    ) {
        self.pool = pool
        self.notice = notice
        self.deliver = deliver
        pause = options.verifyInterval
    }

    func stop() { state.withLock { $0.isEnded = true } }

    /// Records that a part of a log contradicts the rest.
    func found(_ part: String, of conversation: String) {
        if let line = logs.add(conversation, part) { notice(line) }
        deliver([.damaged(conversation: conversation, part: part)])
        schedule()
    }

    /// For health; nil if there is none.
    var trouble: UpstreamNotice? { logs.trouble }

    private func schedule() {
        let begins = state.withLock { state in
            defer { state.isDue = true }
            return !state.isDue && !state.isEnded
        }
        guard begins else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds))) { [weak self] in
            self?.look()
        }
    }

    private func look() {
        state.withLock { $0.isDue = false }
        let conversations = logs.some(Self.together)
        for conversation in conversations { look(conversation) }
        if !conversations.isEmpty { schedule() }
    }

    private func look(_ conversation: String) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "whole")
        json.member("c", string: conversation)
        json.endObject()
        pool.read(json.bytes) { [self] result in
            guard let word = try? result.get().word, ["done", "absent"].contains(word),
                logs.remove(conversation)
            else { return }
            let end = word == "done" ? "is whole again" : "is gone"
            notice(UpstreamNotice(.logWhole, "the log of conversation \(conversation) \(end)"))
            deliver([.damaged(conversation: conversation, part: nil)])
        }
    }
}
