import Chat
import Configuration
import Glibc
import JSON
import Ports

/// The gateway's log: one line an event on standard error, logfmt or JSON. A value for any thread;
/// a slow log reader stops no thread (`LogSink`). It never gets what a user typed, nor a token.
/// Repeats are limited (`LogLimit`).
package struct Logger: Sendable {
    package typealias Level = Configuration.Log.Level

    private let format: Configuration.Log.Format
    let limit: LogLimit
    let sink = LogSink()
    /// The recent events for the operator's page.
    let notices = Notices()

    package init(_ configuration: Configuration.Log) {
        format = configuration.format
        limit = LogLimit(lowest: configuration.level)
    }

    /// Changes the level for all copies of the log.
    func adopt(_ level: Level) { limit.lowest = level }

    /// Runs the body with the lower of the two levels.
    func showing(_ level: Level, or other: Level, _ body: () -> Void) {
        let lowest = limit.lowest
        limit.lowest = LogLimit.rank(level) < LogLimit.rank(other) ? level : other
        body()
        limit.lowest = lowest
    }

    /// Logs what has happened.
    /// - Parameter fields: some of those that the event's row names.
    package func say(_ event: LogEvent, _ fields: KeyValuePairs<String, String> = [:]) {
        notices.take(event, fields, at: Self.now())
        guard limit.admits(event) else { return }
        put(event, fields)
    }

    private static func now() -> Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
    }

    /// Waits until the lines are written, for a second at most. To be called before the process
    /// ends.
    package func flush() { sink.flush() }

    /// Logs how many lines were left out in the past minute. To be called every minute.
    func endMinute() {
        let dropped = sink.takeDropped()
        if dropped > 0 {
            say(.logLinesDropped, ["count": "\(dropped)"])
        }
        for (event, count) in limit.endMinute() {
            put(.logLinesSuppressed, ["of": event.rawValue, "count": "\(count)"])
        }
    }

    private func put(_ event: LogEvent, _ fields: KeyValuePairs<String, String>) {
        let (time, row) = (Self.now(), event.row)
        assert(fields.allSatisfy { row.fields.contains($0.key) }, "\(event): \(fields)")
        var line: [UInt8]
        switch format {
        case .json:
            var json = JSONWriter()
            json.beginObject()
            json.member("time", string: time.description)
            json.member("level", string: row.level.rawValue)
            json.member("event", string: event.rawValue)
            json.member("message", string: row.text)
            for (name, value) in fields { json.member(name, string: Self.visible(value)) }
            if !row.remedy.isEmpty { json.member("remedy", string: row.remedy) }
            json.endObject()
            line = json.bytes
        case .logfmt:
            let head = "time=\(time) level=\(row.level.rawValue) event=\(event.rawValue)"
            line = Array("\(head) message=\(Self.quoted(row.text))".utf8)
            for (name, value) in fields {
                line += Array(" \(name)=\(Self.quoted(Self.visible(value)))".utf8)
            }
            if !row.remedy.isEmpty { line += Array(" remedy=\(Self.quoted(row.remedy))".utf8) }
        }
        line.append(UInt8(ascii: "\n"))
        sink.put(line)
    }

    /// The most scalars of a value.
    private static let longest = 4000

    /// The value with what a terminal or a reader would obey spelled out: control characters of
    /// both sets but line ends, which are quoted, line separators, and marks of direction.
    static func visible(_ value: String) -> String {
        let isPlain = value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        if isPlain, value.utf8.count <= longest { return value }
        var text = ""
        for scalar in value.unicodeScalars.prefix(longest) {
            switch scalar.properties.generalCategory {
            case .control where scalar != "\n", .format, .lineSeparator, .paragraphSeparator:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return value.unicodeScalars.count > longest ? text + "…" : text
    }

    /// A value in logfmt: quoted if it is empty or holds spaces, quotes, `=` or control characters.
    private static func quoted(_ value: String) -> String {
        let plain = value.utf8.allSatisfy {
            $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=")
        }
        guard value.isEmpty || !plain else { return value }
        var json = JSONWriter()
        json.string(value)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
