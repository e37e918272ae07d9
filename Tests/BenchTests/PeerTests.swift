import Foundation
import TestSupport
import Testing

@testable import Bench

/// Servers that are measured beside the gateway: what `--peer` takes, and that a delivery of theirs
/// is counted as one of the gateway's is.
@Suite struct PeerTests {
    @Test func oneURLServesBothSides() throws {
        let peer = try Peer("uws=ws://127.0.0.1:9001")
        #expect(peer.name == "uws" && peer.endpoint.authority == "127.0.0.1:9001")
        #expect(peer.path == "/" && peer.publisherPath == nil)
    }

    @Test func publishersMayComeToAnother() throws {
        let peer = try Peer("nchan=ws://localhost:90/sub?a=b,ws://127.0.0.1:90/pub")
        #expect(peer.path == "/sub?a=b" && peer.publisherPath == "/pub")
    }

    @Test func aServerMaySpeakTheProtocolOfNATS() throws {
        let peer = try Peer("nats=nats+ws://127.0.0.1:9222")
        #expect(peer.dialect == .nats && peer.endpoint.authority == "127.0.0.1:9222")
        let one = DeltaLedger.event(7, bytes: 200)
        let frame = Array("PING\r\n".utf8) + Self.message(one) + Self.message(Array("b".utf8))
        var at = 0
        var found: [[UInt8]] = []
        while let next = NATS.next(in: frame.span, from: &at) {
            found.append(Array(frame[next.payload]))
        }
        #expect(found == [one, Array("b".utf8)] && at == frame.count)
        // Half a message is none.
        at = 0
        let half = Array(frame[..<150])
        let none = NATS.next(in: half.span, from: &at)
        #expect(none?.payload == nil && at == 0)
        #expect(NATS.publication([98], room: 3) == Array("PUB bench.3 1\r\nb\r\n".utf8))
    }

    private static func message(_ payload: [UInt8]) -> [UInt8] {
        Array("MSG bench.0 1 \(payload.count)\r\n".utf8) + payload + Array("\r\n".utf8)
    }

    @Test(arguments: [
        "", "uws", "uws=", "=ws://127.0.0.1:1", "uws=wss://127.0.0.1:1",
        "a=ws://127.0.0.1:1,ws://127.0.0.1:2",
        "a=ws://127.0.0.1:1,ws://127.0.0.1:1,ws://127.0.0.1:1",
    ])
    func anythingElseIsRefused(_ text: String) {
        #expect(throws: BenchError.self) { _ = try Peer(text) }
    }

    /// The reference program and a gateway, with the same load.
    @Test func aPeerIsMeasuredAsTheGatewayIs() throws {
        let (limit, url) = try Self.startLimit()
        defer { Child.kill(limit) }
        let words = [
            "--subscribers=20", "--in-flight=4", "--warm-up=0", "--span=200",
            "--also=fanout.pacing=0", "--peer=limit=\(url)/sub,\(url)/pub", "--peer=open=\(url)/",
        ]
        let cases = try Scenario.fanout.cases(
            try Options(words, accepted: Scenario.fanout.options))
        #expect(cases.map(\.server) == ["gapless", "gapless fanout.pacing=0", "limit", "open"])
        var sizes: [Double] = []
        for trial in try Self.trials(of: cases) {
            #expect(trial.faults == [])
            #expect([trial].values(of: "deliveriesPerCPUSecond").allSatisfy { $0 > 0 })
            sizes += [trial].values(of: "bytesPerDelivery")
        }
        // The open path has publishers among the subscribers, and all frames are as large as the
        // gateway's latest were.
        #expect(sizes.count == 4 && abs(sizes[2] - sizes[1]) <= 1 && sizes[3] == sizes[2])
    }

    /// The reference program at a free port.
    private static func startLimit() throws -> (process: pid_t, url: String) {
        let gapless = URL(fileURLWithPath: try TestSupport.GatewayProcess.binary())
        let program = gapless.deletingLastPathComponent().appendingPathComponent("gapless-limit")
        let port = try Bench.Socket.freePort()
        let limit = try Child.spawn([program.path, String(port)], log: "/dev/null")
        _ = Deadline.after(.seconds(20)).poll { (try? Bench.Socket(port: port)) != nil }
        return (limit, "ws://127.0.0.1:\(port)")
    }

    private static func trials(of cases: [Scenario.Case]) throws -> [Trial] {
        let gapless = try TestSupport.GatewayProcess.binary()
        let machine = try Machine(cores: "none")
        return try cases.compactMap { one in
            switch one.subject {
            case .gateway(let settings, let run):
                try run(
                    try Bench.GatewayProcess(
                        program: gapless, settings: settings,
                        in: try ScratchDirectory(in: NSTemporaryDirectory()), on: machine))
            case .peer(_, let run): try run()
            case .alone: nil
            }
        }
    }

    /// Each room gets its own messages and no other's, at the gateway and at the reference program.
    @Test func roomsAreMeasuredAlike() throws {
        let (limit, url) = try Self.startLimit()
        defer { Child.kill(limit) }
        let words = [
            "--subscribers=20", "--rooms=4", "--in-flight=8", "--burst=4", "--rate=200",
            "--warm-up=0", "--span=200", "--peer=limit=\(url)/sub,\(url)/pub",
        ]
        let cases = try Scenario.rooms.cases(
            try Options(words, accepted: Scenario.rooms.options))
        let loads = ["w8", "w8", "b4", "b4", "r200", "r200"]
        #expect(cases.map(\.name) == loads.map { "N=20/4 \($0)" })
        for trial in try Self.trials(of: cases) {
            #expect(trial.faults == [])
            #expect([trial].values(of: "deliveriesPerSecond").allSatisfy { $0 > 0 })
        }
    }

    @Test func fewerReadersThanRoomsAreRefused() {
        #expect(throws: BenchError.self) {
            _ = try Scenario.rooms.cases(
                try Options(["--subscribers=3", "--rooms=4"], accepted: Scenario.rooms.options))
        }
    }

    @Test func ratiosAreThoseOfARound() throws {
        let cases = try Scenario.fanout.cases(
            try Options(
                ["--subscribers=1", "--in-flight=1", "--peer=uws=ws://127.0.0.1:1"],
                accepted: Scenario.fanout.options))
        func trials(_ values: [Double]) -> [Trial] {
            values.map { value in
                var trial = Trial()
                trial.add("deliveriesPerCPUSecond", value, "1/s")
                return trial
            }
        }
        // The second round was slow for both.
        let all = [trials([100, 10, 120]), trials([50, 5, 100])]
        let report = Report(
            .fanout, cases, trials: all, settings: [], on: try Machine(cores: "none"))
        let json = try JSONValue(parsing: report.json())
        let ratio = json["comparisons"][0]["deliveriesPerCPUSecondRatio"]
        #expect(ratio["median"] == 2 && ratio["values"] == [2, 2, 1.2])
        #expect(report.picture().contains("100 1/s") && report.picture().contains("50 1/s"))
    }
}
