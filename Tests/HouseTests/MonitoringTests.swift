import Foundation
import Testing

/// What an operator reads of the metrics is what the program shows: the reference knows each of
/// them, and nothing in the reference, the alerts or the dashboard names one that is not there.
@Suite struct MonitoringTests {
    private static func file(_ path: String) -> String {
        Repository.files.first { $0.path == path }?.text ?? ""
    }

    /// The names in a text, without the endings of a histogram's samples.
    private static func names(in text: String) -> Set<String> {
        Set(
            text.matches(of: /\bgapless_[a-z0-9_]+/).map { match in
                String(match.output).replacing(/_seconds_(bucket|sum|count)$/, with: "_seconds")
            })
    }

    private static let shown = names(in: file("Sources/Gateway/Operations/Metrics.swift"))

    @Test func theReferenceHasEachMetricAndNoOther() {
        #expect(Self.shown.count > 40)
        let documented = Self.file("deploy/reference/metrics.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `gapless_") }.map { Self.names(in: String($0.prefix(70))) }
        let all = documented.reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(Self.shown.subtracting(all).sorted() == [])
        #expect(all.subtracting(Self.shown).sorted() == [])
    }

    @Test(arguments: ["alerts.yml", "alerts-test.yml", "dashboard.json"])
    func whatWatchesNamesOnlyMetricsThatAreThere(_ name: String) {
        let named = Self.names(in: Self.file("deploy/monitoring/\(name)"))
        #expect(named.count > 10)
        #expect(named.subtracting(Self.shown).sorted() == [])
    }

    @Test func theDashboardShowsEachMetric() {
        let shown = Self.names(in: Self.file("deploy/monitoring/dashboard.json"))
        #expect(Self.shown.subtracting(shown).sorted() == [])
    }

    @Test func eachAlertSaysWhatToDoAndIsTested() throws {
        let rules = Self.file("deploy/monitoring/alerts.yml")
        let alerts = rules.matches(of: /- alert: (\w+)/).map { String($0.output.1) }
        #expect(alerts.count > 10 && Set(alerts).count == alerts.count)
        #expect(rules.matches(of: /action: "/).count == alerts.count)
        #expect(rules.matches(of: /severity: (page|ticket)\}/).count == alerts.count)
        let tests = Self.file("deploy/monitoring/alerts-test.yml")
        let reference = Self.file("deploy/reference/metrics.md")
        for alert in alerts {
            #expect(tests.contains("alertname=\"\(alert)\""), "\(alert)")
            #expect(reference.contains(alert), "\(alert)")
        }
    }
}
