import Synchronization
import Wire

/// The logs of which a part is gone, as far as somebody asked for them, for log and health. Any
/// thread.
final class DamagedLogs: Sendable {
    /// How many are kept by name; what is beyond is said again each time.
    private static let limit = 1000

    private let parts = Mutex<[ID: String]>([:])
    /// Whether there are any, for those who come by in haste.
    private let areThere = Atomic(false)

    /// A log's parts don't agree.
    /// - Returns: what is to be said of it; nil if that was said.
    func add(_ conversation: String, _ part: String) -> String? {
        let isNews = parts.withLock { parts in
            guard parts[conversation.id] != part else { return false }
            if parts.count < Self.limit { parts[conversation.id] = part }
            return true
        }
        areThere.store(true, ordering: .relaxed)
        return isNews ? Self.text(conversation, part) : nil
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

    private static func text(_ conversation: String, _ part: String) -> String {
        let remedy = "gapless repair --conversation \(conversation)"
        let mends = part == "members" ? "PUT it with all participants, or \(remedy)" : remedy
        return "the log of conversation \(conversation) is damaged in Redis: \(part) is gone, cut "
            + "or of another log; nothing of it is served or written before it is mended: \(mends)"
    }

    /// For health; nil if there is none.
    var trouble: String? {
        parts.withLock { parts in
            guard let (id, part) = parts.min(by: { $0.key.text < $1.key.text }) else { return nil }
            let more = parts.count > 1 ? " (and \(parts.count - 1) more)" : ""
            return Self.text(id.text, part) + more
        }
    }
}
