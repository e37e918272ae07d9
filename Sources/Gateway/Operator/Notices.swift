import Chat
import Configuration
import JSON
import Synchronization

/// Recent events for the operator: the latest warnings and errors of the log, and changes of the
/// upstream's state. Repeats are one notice. From any thread.
final class Notices: Sendable {
    struct Notice: Sendable, Equatable {
        var at: Timestamp
        let level: Configuration.Log.Level
        let event: String
        /// The fields of the line.
        var detail: String
        /// What to do about it; nil if there is nothing to do.
        let remedy: String?
        var count = 1
    }

    /// The most notices that are kept.
    static let limit = 50
    private static let told: Set = [
        "upstream state changed", "cache is writable again", "descriptors suffice again",
        "draining", "reloaded",
    ]

    private let notices = Mutex<[Notice]>([])

    func take(
        _ level: Configuration.Log.Level, _ event: String,
        _ fields: KeyValuePairs<String, String>, at now: Timestamp
    ) {
        guard level == .warning || level == .error || Self.told.contains(event) else { return }
        let detail = fields.filter { $0.key != "remedy" }
            .map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        let remedy = fields.first { $0.key == "remedy" }?.value ?? Self.remedies[event]
        notices.withLock { notices in
            if let last = notices.last, last.event == event, last.level == level,
                last.detail == detail || level != .info
            {
                notices[notices.count - 1].at = now
                notices[notices.count - 1].detail = detail
                notices[notices.count - 1].count += 1
            } else {
                if notices.count == Self.limit { notices.removeFirst() }
                notices.append(
                    Notice(at: now, level: level, event: event, detail: detail, remedy: remedy))
            }
        }
    }

    /// Latest first.
    var latest: [Notice] { notices.withLock { $0.reversed() } }

    private static let remedies = [
        "API key refused":
            "A backend has a key that is not in auth.api_key_file, or somebody tries some: "
            + "the address says who.",
        "certificate expires soon": "Renew the files of listen.tls, then reload (SIGHUP).",
        "certificate has expired":
            "Browsers refuse the connection. Renew the files of listen.tls, then reload (SIGHUP).",
        "cache can't be written":
            "The error says why: the disk of cache.path (full, read-only, failing), or somebody "
            + "else who has the file. The gateway tries again every second.",
        "cache was damaged and is filled anew":
            "Nothing is lost. Look at the disk; the file that was put aside may be deleted.",
        "checkpoint of the cache failed": "Look at the disk of cache.path.",
        "clients were told to forget a conversation and to load it again":
            "The origin was restored, or lost its end. If nobody restored it, look whether its "
            + "writes are durable.",
        "clock jumped": "Keep the clock right by NTP: tokens are judged by it.",
        "descriptors ran out": "Raise LimitNOFILE (ulimit -n), or lower limits.connections.",
        "feed of the upstream broke; what was missed is fetched when it is back":
            "Look at the origin and at the network on the way to it. Clients are told, and get "
            + "what they miss when it is back.",
        "origin lost changes; clients load it again":
            "The origin lost what it had acknowledged. Look whether its writes are durable.",
        "postgres": "Look at the server and its log, and at the network on the way to it.",
        "read of the cache failed": "Look at the disk of cache.path.",
        "redis": "Look at the server and its log, and at the network on the way to it.",
        "reload failed, the old configuration stays":
            "Run gapless checkconfig with the same file, and reload again.",
        "traced request failed": "The origin did not do it: see Upstream.",
        "write of the cache failed": "Look at the disk of cache.path.",
    ]
}

extension JSONWriter {
    mutating func notices(_ notices: [Notices.Notice]) {
        key("notices")
        beginArray()
        for notice in notices {
            beginObject()
            member("at", string: notice.at.description)
            member("level", string: notice.level.rawValue)
            member("event", string: notice.event)
            member("detail", string: notice.detail)
            member("count", int: notice.count)
            member("remedy", string: notice.remedy)
            endObject()
        }
        endArray()
    }
}
