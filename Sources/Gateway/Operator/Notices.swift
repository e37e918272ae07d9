import Chat
import JSON
import Ports
import Synchronization

/// Recent events for the operator: the latest warnings and errors of the log, and changes of the
/// upstream's state. Repeats are one notice. From any thread.
final class Notices: Sendable {
    struct Notice: Sendable, Equatable {
        var at: Timestamp
        let event: LogEvent
        /// The fields of the line.
        var detail: String
        var count = 1
    }

    /// The most notices that are kept.
    static let limit = 50
    private static let told: Set<LogEvent> = [
        .upstreamStateChanged, .cacheWritable, .descriptorsSufficient, .draining, .reloaded,
    ]

    private let notices = Mutex<[Notice]>([])

    func take(_ event: LogEvent, _ fields: KeyValuePairs<String, String>, at now: Timestamp) {
        let level = event.row.level
        guard level == .warning || level == .error || Self.told.contains(event) else { return }
        let detail = fields.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        notices.withLock { notices in
            if let last = notices.last, last.event == event,
                last.detail == detail || level != .info
            {
                notices[notices.count - 1].at = now
                notices[notices.count - 1].detail = detail
                notices[notices.count - 1].count += 1
            } else {
                if notices.count == Self.limit { notices.removeFirst() }
                notices.append(Notice(at: now, event: event, detail: detail))
            }
        }
    }

    /// Latest first.
    var latest: [Notice] { notices.withLock { $0.reversed() } }
}

extension JSONWriter {
    mutating func notices(_ notices: [Notices.Notice]) {
        key("notices")
        beginArray()
        for notice in notices {
            beginObject()
            member("at", string: notice.at.description)
            member("level", string: notice.event.row.level.rawValue)
            member("code", string: notice.event.rawValue)
            member("what", string: notice.event.row.text)
            member("detail", string: notice.detail)
            member("count", int: notice.count)
            member("remedy", string: notice.event.row.remedy)
            endObject()
        }
        endArray()
    }
}
