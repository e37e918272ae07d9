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
        #expect(peer.isNATS && peer.endpoint.authority == "127.0.0.1:9222")
        let one = DeltaLedger.event(7, bytes: 200)
        let frame = Array("PING\r\n".utf8) + Self.message(one) + Self.message(Array("b".utf8))
        var at = 0
        var found: [[UInt8]] = []
        while let place = NATS.next(in: frame.span, from: &at) { found.append(Array(frame[place])) }
        #expect(found == [one, Array("b".utf8)] && at == frame.count)
        // Half a message is none.
        at = 0
        let half = Array(frame[..<150])
        let none = NATS.next(in: half.span, from: &at)
        #expect(none == nil && at == 0)
        #expect(NATS.publication([98]) == Array("PUB bench 1\r\nb\r\n".utf8))
    }

    private static func message(_ payload: [UInt8]) -> [UInt8] {
        Array("MSG bench 1 \(payload.count)\r\n".utf8) + payload + Array("\r\n".utf8)
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
        let gapless = URL(fileURLWithPath: try TestSupport.GatewayProcess.binary())
        let port = try Bench.Socket.freePort()
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-limit-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: log) }
        let limit = try Child.spawn(
            [gapless.deletingLastPathComponent().appendingPathComponent("gapless-limit").path]
                + [String(port)], log: log)
        defer { Child.kill(limit) }
        let url = "ws://127.0.0.1:\(port)"
        let words = [
            "--subscribers=20", "--in-flight=4", "--warm-up=0", "--span=200",
            "--also=fanout.pacing=0", "--peer=limit=\(url)/sub,\(url)/pub", "--peer=open=\(url)/",
        ]
        let cases = try Scenario.fanout.cases(
            try Options(words, accepted: Scenario.fanout.options))
        #expect(cases.map(\.server) == ["gapless", "gapless fanout.pacing=0", "limit", "open"])
        _ = Deadline.after(.seconds(20)).poll { (try? Bench.Socket(port: port)) != nil }
        let machine = try Machine(cores: "none")
        var sizes: [Double] = []
        for one in cases {
            let trial: Trial
            switch one.subject {
            case .gateway(let settings, let run):
                trial = try run(
                    try Bench.GatewayProcess(
                        program: gapless.path, settings: settings,
                        in: try ScratchDirectory(in: NSTemporaryDirectory()), on: machine))
            case .peer(_, let run): trial = try run()
            case .alone: continue
            }
            #expect(trial.faults == [])
            #expect([trial].values(of: "deliveriesPerCPUSecond").allSatisfy { $0 > 0 })
            sizes += [trial].values(of: "bytesPerDelivery")
        }
        // The open path has publishers among the subscribers, and all frames are as large as the
        // gateway's latest were.
        #expect(sizes.count == 4 && abs(sizes[2] - sizes[1]) <= 1 && sizes[3] == sizes[2])
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
