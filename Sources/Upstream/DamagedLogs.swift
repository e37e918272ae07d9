import Ports
import Synchronization
import Wire

/// Damaged logs (a part is missing) that somebody asked for, for log and health. Any thread.
final class DamagedLogs: Sendable {
    /// The most that are remembered; others are logged each time.
    private static let limit = 1000

    /// The origin's name.
    private let origin: String
    /// Says what is withheld until a log is repaired.
    private let withheld: String
    private let parts = Mutex<[ID: String]>([:])
    /// Whether there are any: a fast check without the lock.
    private let areThere = Atomic(false)

    init(
        _ origin: String = "Redis", withheld: String = "nothing of it is served or written"
    ) {
        self.origin = origin
        self.withheld = withheld
    }

    /// Records a damaged log.
    /// - Returns: the line to log; nil if it was logged.
    func add(_ conversation: String, _ part: String) -> UpstreamNotice? {
        let isNews = parts.withLock { parts in
            guard parts[conversation.id] != part else { return false }
            if parts.count < Self.limit { parts[conversation.id] = part }
            return true
        }
        areThere.store(true, ordering: .relaxed)
        return isNews ? UpstreamNotice(.logDamaged, text(conversation, part)) : nil
    }

    /// Records that a log is whole.
    /// - Returns: whether it was damaged before.
    func remove(_ conversation: String) -> Bool {
        guard areThere.load(ordering: .relaxed) else { return false }
        return parts.withLock { parts in
            let wasThere = parts.removeValue(forKey: conversation.id) != nil
            areThere.store(!parts.isEmpty, ordering: .relaxed)
            return wasThere
        }
    }

    /// A random selection of the conversations.
    func some(_ count: Int) -> [String] {
        parts.withLock { parts in parts.keys.shuffled().prefix(count).map(\.text) }
    }

    private func text(_ conversation: String, _ part: String) -> String {
        "the log of conversation \(conversation) is damaged in \(origin): \(part) is gone, cut "
            + "or of another log; \(withheld) before it is mended"
    }

    /// For health; nil if there is none.
    var trouble: UpstreamNotice? {
        parts.withLock { parts in
            guard let (id, part) = parts.min(by: { $0.key.text < $1.key.text }) else { return nil }
            let more = parts.count > 1 ? " (and \(parts.count - 1) more)" : ""
            return UpstreamNotice(.logDamaged, text(id.text, part) + more)
        }
    }
}

extension RequestError {
    /// The same error while a list is read: it names the conversation, for the operator who repairs
    /// the log.
    func inList(at conversation: String) -> RequestError {
        guard let part = damagedPart else { return self }
        var error = self
        error.message =
            "the log of conversation \(conversation) is damaged at the origin (\(part))"
        return error
    }
}
