import Chat
import Configuration
import Glibc
import JSON

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

    /// For operators: something that the service does by itself.
    package func info(_ event: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.info, event, fields)
    }

    /// For operators: something to look at in the morning.
    package func warning(_ event: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.warning, event, fields)
    }

    /// For operators: something to get up for.
    package func error(_ event: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.error, event, fields)
    }

    /// For developers.
    package func debug(_ event: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.debug, event, fields)
    }

    private func write(_ level: Level, _ event: String, _ fields: KeyValuePairs<String, String>) {
        notices.take(level, event, fields, at: Self.now())
        guard limit.admits(level, event) else { return }
        put(level, event, fields)
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
            warning(
                "lines of the log were dropped",
                ["count": "\(dropped)", "remedy": "find out why what reads the log does not"])
        }
        for (line, count) in limit.endMinute() {
            put(line.level, "lines suppressed", ["of": line.event, "count": "\(count)"])
        }
    }

    private func put(_ level: Level, _ event: String, _ fields: KeyValuePairs<String, String>) {
        let time = Self.now()
        var line: [UInt8]
        switch format {
        case .json:
            var json = JSONWriter()
            json.beginObject()
            json.member("time", string: time.description)
            json.member("level", string: level.rawValue)
            json.member("event", string: event)
            for (name, value) in fields { json.member(name, string: Self.visible(value)) }
            json.endObject()
            line = json.bytes
        case .logfmt:
            line = Array("time=\(time) level=\(level.rawValue) event=\(Self.quoted(event))".utf8)
            for (name, value) in fields {
                line += Array(" \(name)=\(Self.quoted(Self.visible(value)))".utf8)
            }
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
