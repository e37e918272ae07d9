import Foundation
import TestSupport
import Testing

/// `bench client` has to take the client of this project and to refuse a naive one.
@Suite(.serialized) struct ClientTrialTests {
    private struct Verdict {
        let status: Int32
        let report: JSONValue
        let output: String

        var failed: [String] {
            (report["criteria"].array ?? []).filter { $0["holds"] == false }
                .compactMap { $0["name"].string }
        }
    }

    private func judge(_ program: String, _ words: [String]) throws -> Verdict {
        let gateway = try GatewayProcess()
        let keys = try #require(gateway.settings["auth.api_key_file"])
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let client = root.appendingPathComponent("Tests/BrowserTests/\(program).mjs").path
        let log = gateway.directory.appendingPathComponent("bench").path
        let arguments =
            [
                "bench", "client", "--json", "--url", "http://127.0.0.1:\(gateway.port)",
                "--internal", "http://127.0.0.1:\(gateway.internalPort)", "--api-key-file", keys,
                "--client", "node \(client)", "--gateway-log",
                gateway.directory.appendingPathComponent("client").path,
            ] + words
        let child = try ChildProcess(try GatewayProcess.binary(), arguments, log: log)
        defer { child.kill() }
        _ = Deadline.after(.seconds(240)).poll { child.exitStatus != nil }
        let status = try #require(child.exitStatus, "bench does not end")
        let output = try String(contentsOfFile: log, encoding: .utf8)
        let line = try #require(
            output.split(separator: "\n").last { $0.hasPrefix("{") }, "\(output)")
        return Verdict(
            status: status, report: try JSONValue(parsing: Array(line.utf8)), output: output)
    }

    @Test(arguments: [1, 2]) func theClientOfThisProjectIsTaken(_ seed: Int) throws {
        let verdict = try judge("judged-client", ["--rounds", "6", "--seed", "\(seed)"])
        #expect(verdict.failed == [] && verdict.status == 0, "\(verdict.output)")
        #expect(verdict.report["good"] == true)
        #expect(verdict.report["figures"]["echoes"]["value"].int ?? 0 > 6)
    }

    @Test func aNaiveOneIsRefused() throws {
        let words = ["--rounds", "6", "--seed", "1", "--held", "50", "--patience", "20"]
        let verdict = try judge("naive-client", words)
        #expect(verdict.status == 1 && verdict.report["good"] == false)
        #expect(verdict.failed.contains("places missing without a gap"), "\(verdict.output)")
    }

    @Test func oneThatEndsIsRefused() throws {
        let verdict = try judge("no-such-client", ["--rounds", "1", "--patience", "20"])
        #expect(verdict.status == 1 && verdict.failed.contains("it goes on"), "\(verdict.output)")
    }
}
