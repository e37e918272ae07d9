import Foundation
import TestSupport
import Testing

/// Real conversations through the whole pipeline: the program's own `replay` plays them into a
/// running gateway while clients watch.
@Suite struct ReplayTests {
    private static let watchers = 50

    @Test func everyWatcherHoldsEachLogOnceInOrderAndACrashLosesNothing() throws {
        let transcripts = Transcript.all
        try #require(transcripts.count >= 2 && transcripts.allSatisfy { $0.lines.count >= 100 })
        let gateway = try GatewayProcess()
        let api = gateway.api()
        let users = (0..<Self.watchers).map { "watcher-\($0)" }
        for transcript in transcripts {
            let participants = JSONValue.array(users.map { .string($0) })
            try api.put(transcript.conversation, ["participants": participants])
        }
        let swarm = try ClientSwarm(count: users.count, port: gateway.port) { users[$0] }
        for transcript in transcripts {
            try swarm.request("subscribeMessages") { $0.subscription(transcript.conversation) }
        }

        let player = try replay(transcripts, into: gateway)
        let isComplete = try swarm.run(.after(.seconds(240))) {
            swarm.clients.allSatisfy { client in
                transcripts.allSatisfy {
                    client.holder($0.conversation).held.count >= $0.lines.count
                }
            }
        }
        #expect(isComplete)
        #expect(Deadline.standard.poll { player.exitStatus != nil })
        #expect(player.exitStatus == 0)
        for client in swarm.clients {
            for transcript in transcripts {
                expect(client.holder(transcript.conversation), equals: transcript, client.user)
            }
        }

        gateway.kill()
        try gateway.start()
        let fresh = try gateway.client(users[0])
        for transcript in transcripts {
            try readBack(transcript, fresh)
            expect(fresh.holder(transcript.conversation), equals: transcript, "fresh client")
        }
        #expect(try gateway.terminate() == 0)
    }

    private func replay(
        _ transcripts: [Transcript], into gateway: GatewayProcess
    ) throws -> ChildProcess {
        // Each file into the conversation of its name.
        let arguments =
            ["replay"] + transcripts.map(\.file.path) + [
                "--url", "http://127.0.0.1:\(gateway.port)",
                "--api-key-file", gateway.directory.appendingPathComponent("api-keys").path,
            ]
        return try ChildProcess(
            GatewayProcess.binary(), arguments,
            log: gateway.directory.appendingPathComponent("replay.log").path)
    }

    /// Subscribes and walks down to the beginning, page by page.
    private func readBack(_ transcript: Transcript, _ client: ChatTestClient) throws {
        try client.subscribe(transcript.conversation)
        var oldest = client.holder(transcript.conversation).runs.ranges.first?.lowerBound ?? 1
        while oldest > 1 {
            let page = try client.request(
                "fetchMessages",
                [
                    "conversation": .string(transcript.conversation), "before": .int(oldest),
                    "limit": 1000,
                ])
            #expect(page["messages"].array?.isEmpty == false)
            let next = client.holder(transcript.conversation).runs.ranges.first?.lowerBound ?? 1
            guard next < oldest else { throw TestFailure("a page brought nothing older") }
            oldest = next
        }
    }

    private func expect(_ holder: Holder, equals transcript: Transcript, _ who: String) {
        let held = holder.messages.map {
            Transcript.Line(author: $0["author"].string ?? "", body: $0["body"].string ?? "")
        }
        let isSame = held == transcript.lines
        #expect(isSame, "\(who) differs from \(transcript.conversation)")
        #expect(holder.runs == Intervals([1...transcript.lines.count]), "\(who)")
    }
}
