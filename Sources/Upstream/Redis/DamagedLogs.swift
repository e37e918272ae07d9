import Synchronization
import Wire

/// The logs of which a part is gone, as far as somebody asked for them, for log and health. Any
/// thread.
final class DamagedLogs: Sendable {
    /// How many are kept by name; what is beyond is said again each time.
    private static let limit = 1000

    /// Where the logs lie, and what to do about one, for a conversation and a part of it.
    private let origin: String
    /// What is withheld until one is mended.
    private let withheld: String
    private let remedy: @Sendable (String, String) -> String
    private let parts = Mutex<[ID: String]>([:])
    /// Whether there are any, for those who come by in haste.
    private let areThere = Atomic(false)

    init(
        _ origin: String, withheld: String, remedy: @escaping @Sendable (String, String) -> String
    ) {
        self.origin = origin
        self.withheld = withheld
        self.remedy = remedy
    }

    /// Of logs in Redis.
    convenience init() {
        self.init("Redis", withheld: "nothing of it is served or written") { conversation, part in
            let remedy = "gapless repair --conversation \(conversation)"
            return part == "members" ? "PUT it with all participants, or \(remedy)" : remedy
        }
    }

    /// A log's parts don't agree.
    /// - Returns: what is to be said of it; nil if that was said.
    func add(_ conversation: String, _ part: String) -> String? {
        let isNews = parts.withLock { parts in
            guard parts[conversation.id] != part else { return false }
            if parts.count < Self.limit { parts[conversation.id] = part }
            return true
        }
        areThere.store(true, ordering: .relaxed)
        return isNews ? text(conversation, part) : nil
    }

    /// All parts of the log agree.
    /// - Returns: whether that is news.
    func remove(_ conversation: String) -> Bool {
        guard areThere.load(ordering: .relaxed) else { return false }
        return parts.withLock { parts in
            let wasThere = parts.removeValue(forKey: conversation.id) != nil
            areThere.store(!parts.isEmpty, ordering: .relaxed)
            return wasThere
        }
    }

    /// Some of the conversations, others each time there are many.
    func some(_ count: Int) -> [String] {
        parts.withLock { parts in parts.keys.shuffled().prefix(count).map(\.text) }
    }

    private func text(_ conversation: String, _ part: String) -> String {
        "the log of conversation \(conversation) is damaged in \(origin): \(part) is gone, cut "
            + "or of another log; \(withheld) before it is mended: "
            + remedy(conversation, part)
    }

    /// For health; nil if there is none.
    var trouble: String? {
        parts.withLock { parts in
            guard let (id, part) = parts.min(by: { $0.key.text < $1.key.text }) else { return nil }
            let more = parts.count > 1 ? " (and \(parts.count - 1) more)" : ""
            return text(id.text, part) + more
        }
    }
}

extension RequestError {
    /// The same where a list is read: whoever mends the log is told which one it is.
    func inList(at conversation: String) -> RequestError {
        guard let part = damagedPart else { return self }
        var error = RequestError(
            code, "the log of conversation \(conversation) is damaged at the origin (\(part))",
            retry: retry)
        error.damagedPart = part
        return error
    }
}
