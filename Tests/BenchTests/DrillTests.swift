import Foundation
import TestSupport
import Testing

/// The drills, small, at a real gateway: the verdict is the exit code.
@Suite(.serialized) struct DrillTests {
    private struct Run {
        let status: Int32
        let output: String
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
    ])
    func aDrillThatHoldsEndsWith0(_ words: [String]) throws {
        let gateway = try GatewayProcess()
        let run = try bench(words, gateway)
        #expect(run.status == 0, "\(run.output)")
        // What it wrote is gone.
        #expect(try gateway.health().json["accounting"]["error"] == 0)
        #expect(try gateway.health().json["cache"]["messages"] == 0)
    }

    @Test func theAvalancheStartsTheGatewayItselfAndAgain() throws {
        let gateway = try GatewayProcess(starts: false)
        let run = try bench(
            ["avalanche", "--clients", "60", "--rooms", "10"], gateway, starts: true)
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func aCriterionThatDoesNotHoldEndsWith1AndIsInTheReport() throws {
        let gateway = try GatewayProcess()
        let run = try bench(
            ["jitter", "--clients", "10", "--messages", "10", "--rate", "20", "--life", "100"]
                + ["--offline", "5000", "--json"],
            gateway)
        #expect(run.status == 1)
        let line = try #require(run.output.split(separator: "\n").last { $0.hasPrefix("{") })
        let report = try JSONValue(parsing: Array(line.utf8))
        #expect(report["good"] == false && report["scenario"] == "jitter")
        let failed = (report["criteria"].array ?? []).filter { $0["holds"] == false }
        #expect(failed.map { $0["name"] } == ["replay p99"])
        #expect(report["figures"]["delivered"]["value"] == report["figures"]["expected"]["value"])
    }

    @Test(arguments: [
        [], ["drought"], ["storm", "--rate", "5"], ["storm", "--clients", "0"],
        ["storm", "--clients", "many"], ["avalanche"],
    ])
    func whatIsMisusedEndsWith2(_ words: [String]) throws {
        let gateway = try GatewayProcess(starts: false)
        #expect(try bench(words, gateway).status == 2)
    }
}
