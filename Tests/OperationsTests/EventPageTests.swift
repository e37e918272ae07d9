import Foundation
import Ports
import Testing

/// The codes of what the gateway tells: the table in the program, the page of the reference, and
/// the calls.
@Suite struct EventPageTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The rows of the page, made from the table.
    private static func row(_ event: LogEvent) -> String {
        let (code, row) = (event.rawValue, event.row)
        let fields = row.fields.map { "`\($0)`" }.joined(separator: ", ")
        return "| `\(code)` | \(row.level.rawValue) | \(fields) | \(row.text) | \(row.remedy) |"
    }

    @Test func thePageHasEachCodeAsTheTableHasIt() throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent("deploy/reference/events.md"),
            encoding: .utf8)
        let rows = page.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| `") }
        #expect(rows == LogEvent.allCases.map(Self.row))
    }

    @Test func eachWarningAndErrorSaysWhatToDoAndAllEndAsSentences() {
        for event in LogEvent.allCases {
            let row = event.row
            let isUrgent = row.level == .warning || row.level == .error
            #expect(!isUrgent || row.remedy.hasSuffix("."), "\(event)")
            #expect(row.text.hasSuffix("."), "\(event)")
        }
    }

    @Test func aCodeIsLowerCaseWithUnderscores() {
        for event in LogEvent.allCases {
            #expect(event.rawValue.wholeMatch(of: /[a-z]+(_[a-z]+)*/) != nil, "\(event)")
        }
    }

    /// A code that nothing says is a promise without a line. That each line has a code, the type
    /// of the call says.
    @Test func eachCodeIsSaidSomewhere() throws {
        let sources = Self.root.appendingPathComponent("Sources")
        let files = try #require(
            FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var said: Set<String> = []
        for case let file as URL in files
        where file.pathExtension == "swift" && file.lastPathComponent != "LogEvent.swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            said.formUnion(text.matches(of: /\.(\w+)/).map { String($0.output.1) })
        }
        let unsaid = LogEvent.allCases.filter { !said.contains("\($0)") }
        #expect(unsaid == [])
    }

    @Test func alertsNameCodesThatAreThere() throws {
        let alerts = try String(
            contentsOf: Self.root.appendingPathComponent("deploy/monitoring/alerts.yml"),
            encoding: .utf8)
        let named = alerts.matches(of: /events: "([a-z_, ]+)"/).flatMap {
            $0.output.1.split(separator: ", ").map(String.init)
        }
        #expect(named.count > 10)
        for code in named { #expect(LogEvent(rawValue: code) != nil, "\(code)") }
    }
}
