import CacheBench
import Foundation
import TestSupport
import Testing

@testable import Bench

/// Scenarios in small: that they come to their figures without a fault, and refuse what they can't
/// do. What the figures are is not for a busy machine to say.
@Suite struct ScenarioTests {
    private static func trial(
        _ scenario: Scenario, _ words: [String], program: String = "gapless"
    ) throws -> [Trial] {
        let gapless = URL(fileURLWithPath: try TestSupport.GatewayProcess.binary())
        let programs = gapless.deletingLastPathComponent().path
        let bench = Workbench(
            program: "\(programs)/\(program)", settings: [], programs: programs,
            directory: NSTemporaryDirectory(), machine: try Machine(cores: "none"))
        return try scenario.cases(try Options(words, accepted: scenario.options)).map { one in
            switch one.subject {
            case .gateway(let settings, let run): try run(try bench.gateway(settings))
            case .alone(_, let run): try run(bench)
            case .peer(_, let run): try run()
            }
        }
    }

    /// Plain C writes what our own code did: both files are compared.
    @Test func plainCWritesTheSame() throws {
        let trials = try Self.trial(
            .apply, ["--batch=1,25", "--messages=200", "--conversations=3"])
        #expect(trials.count == 2 && trials.flatMap(\.faults) == [])
        #expect(trials.values(of: "ratio").allSatisfy { $0 > 0 })
    }

    @Test func plainCReadsTheSame() throws {
        let trials = try Self.trial(
            .cachedPages, ["--messages=1000", "--limit=10", "--stretch=5", "--rounds=2"])
        #expect(trials.flatMap(\.faults) == [])
        for figure in ["newestRatio", "anywhereRatio", "newestReply"] {
            #expect(trials.values(of: figure).allSatisfy { $0 > 0 } && !trials.isEmpty)
        }
    }

    @Test func aLongFileIsStarted() throws {
        let trials = try Self.trial(
            .start, ["--messages=1001", "--conversations=2", "--rounds=1"])
        #expect(trials.count == 1 && trials[0].faults == [])
        #expect(trials.values(of: "longStart").allSatisfy { $0 > 0 })
    }

    @Test func idleConversationsAreHeld() throws {
        let trials = try Self.trial(
            .flat, ["--idle=1005", "--subscribers=3", "--warm-up=0", "--span=100"])
        #expect(trials.count == 2 && trials.flatMap(\.faults) == [])
        #expect(trials.values(of: "CPUPerMessage").count == 1)
        #expect(trials.values(of: "CPUPerDelivery").count == 1)
    }

    @Test(arguments: [
        (Scenario.allocations, ["--few=10", "--many=10"]),
        (Scenario.start, ["--messages=5", "--conversations=6"]),
        (Scenario.apply, ["--batch=0"]), (Scenario.flat, ["--idle=0"]),
    ])
    func whatCanNotBeIsRefused(_ scenario: Scenario, _ words: [String]) throws {
        let options = try Options(words, accepted: scenario.options)
        #expect(throws: BenchError.self) { _ = try scenario.cases(options) }
    }

    @Test func twoHalvesAreOneScenario() throws {
        let pages = Scenario.pages.with(.cachedPages)
        #expect(Set(pages.options.map(\.name)).count == pages.options.count)
        let cases = try pages.cases(try Options(["--messages=20000"], accepted: pages.options))
        #expect(cases.map(\.server) == ["gapless", "cache"] && cases[0].name == cases[1].name)
    }

    /// What a build for debugging asks for, which is more than the shipped one does: 456 times and
    /// 6.0 when this was written last, give or take two and 0.1. Who needs more says so here, and
    /// why; who needs less lowers it. A delivery was 5.1 before its socket was gathered with the
    /// others of the turn, by a closure more; in the shipped program it is 0.09 instead of 0.05.
    @Test func memoryIsAskedForNoMoreThanBefore() throws {
        let trials = try Self.trial(.allocations, [], program: "gapless-counted")
        #expect(trials.flatMap(\.faults) == [])
        let message = try #require(trials.values(of: "perMessage").first)
        let delivery = try #require(trials.values(of: "perDelivery").first)
        #expect(message > 0 && message <= 465, "\(message) for a message")
        #expect(delivery > 0 && delivery <= 6.5, "\(delivery) for a delivery")
    }

    @Test func aProgramThatDoesNotCountIsRefused() {
        #expect(throws: BenchError.self) { _ = try Self.trial(.allocations, ["--messages=10"]) }
    }
}
