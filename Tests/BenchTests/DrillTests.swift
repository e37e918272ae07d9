import Foundation
import TestSupport
import Testing

/// The drills, small, at a real gateway: the verdict is the exit code. What they say of time and
/// memory is not judged here, where a debugging build shares the machine with other tests.
@Suite(.serialized) struct DrillTests {
    private struct Run {
        let status: Int32
        let output: String

        /// The report, the last line that is JSON.
        func report() throws -> JSONValue {
            let line = try #require(output.split(separator: "\n").last { $0.hasPrefix("{") })
            return try JSONValue(parsing: Array(line.utf8))
        }
    }

    private static let measured: Set = [
        "replay p99", "recovery p95", "delivery p99", "memory growth",
        "the fast ones' p99 with stalled ones to without, median",
        "seeds that slow those who chat, twice",
    ]

    /// Nothing was lost, twice or wrong, and the exit code says what the report says.
    private func expectExact(_ run: Run) throws {
        let report = try run.report()
        let failed = (report["criteria"].array ?? []).filter { $0["holds"] == false }
            .compactMap { $0["name"].string }
        #expect(Set(failed).subtracting(Self.measured) == [], "\(run.output)")
        #expect(report["figures"]["delivered"]["value"] == report["figures"]["expected"]["value"])
        #expect((report["good"] == true) == (failed.isEmpty && report["invalid"].isNull))
        #expect(run.status == (report["good"] == true ? 0 : 1))
    }

    private func bench(
        _ words: [String], _ gateway: GatewayProcess, starts: Bool = false
    ) throws -> Run {
        let directory = gateway.directory
        let keys = try #require(gateway.settings["auth.api_key_file"])
        var arguments = [
            "bench", "--url", "http://127.0.0.1:\(gateway.port)", "--internal",
            "http://localhost:\(gateway.internalPort)", "--api-key-file", keys, "--gateway-log",
            directory.appendingPathComponent("started").path,
        ]
        if starts {
            let settings = gateway.settings.map { "--set \($0.key)=\($0.value)" }
            let command = [try GatewayProcess.binary(), "serve"] + settings
            arguments += ["--gateway", command.joined(separator: " ")]
        }
        let log = directory.appendingPathComponent("bench").path
        let child = try ChildProcess(try GatewayProcess.binary(), arguments + words, log: log)
        defer { child.kill() }
        _ = Deadline.after(.seconds(120)).poll { child.exitStatus != nil }
        let status = try #require(child.exitStatus, "bench does not end")
        return Run(status: status, output: try String(contentsOfFile: log, encoding: .utf8))
    }

    @Test(arguments: [
        ["jitter", "--clients", "40", "--messages", "30", "--rate", "20", "--life", "500"]
            + ["--offline", "200"],
        ["storm", "--clients", "60"],
        ["fanout", "--clients", "50", "--seconds", "1", "--rate", "20"],
        ["slow", "--clients", "10", "--stalled", "3", "--seconds", "4", "--slice", "1000"]
            + ["--body", "3000", "--soft-limit", "64"],
        ["worst", "--clients", "20", "--rate", "50", "--seeds", "3", "--pairs", "1"]
            + ["--slice", "500"],
    ])
    func aDrillIsExactAndLeavesNothing(_ words: [String]) throws {
        let gateway = try GatewayProcess(settings: ["limits.outbox_soft": "64KiB"])
        try expectExact(bench(words + ["--json"], gateway))
        #expect(try gateway.health().json["accounting"]["error"] == 0)
        // What was deleted is cleared away piece by piece.
        let isGone = try Deadline.standard.poll {
            try gateway.health().json["cache"]["messages"] == 0
        }
        #expect(isGone)
    }

    @Test func theAvalancheStartsTheGatewayItselfAndAgain() throws {
        let gateway = try GatewayProcess(starts: false)
        let words = ["avalanche", "--clients", "60", "--rooms", "10", "--json"]
        try expectExact(bench(words, gateway, starts: true))
    }

    @Test func aCriterionThatDoesNotHoldEndsWith1AndIsInTheReport() throws {
        let gateway = try GatewayProcess()
        let run = try bench(
            ["jitter", "--clients", "10", "--messages", "10", "--rate", "20", "--life", "100"]
                + ["--offline", "5000", "--json"],
            gateway)
        #expect(run.status == 1)
        let report = try run.report()
        #expect(report["good"] == false && report["scenario"] == "jitter")
        let failed = (report["criteria"].array ?? []).filter { $0["holds"] == false }
        #expect(failed.map { $0["name"] } == ["replay p99"])
    }

    @Test(arguments: [
        [], ["drought"], ["storm", "--rate", "5"], ["storm", "--clients", "0"],
        ["storm", "--clients", "many"], ["avalanche"], ["client"], ["storm", "--client", "node"],
    ])
    func whatIsMisusedEndsWith2(_ words: [String]) throws {
        let gateway = try GatewayProcess(starts: false)
        #expect(try bench(words, gateway).status == 2)
    }
}
