import Foundation
import TestSupport
import Testing

extension LiveClient {
    /// The quick start of the README is the program that is built as `gapless-example`, and works.
    @Suite struct QuickStart {
        static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()

        @Test func theREADMEShowsWhatIsBuilt() throws {
            let readme = try String(
                contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
            let blocks = readme.components(separatedBy: "```swift\n").dropFirst()
            let block = try #require(blocks.first?.components(separatedBy: "```").first)
            let source = try String(
                contentsOf: Self.root.appendingPathComponent("Sources/gapless-example/main.swift"),
                encoding: .utf8)
            let built = source.split(separator: "\n", omittingEmptySubsequences: false)
                .filter { !$0.hasPrefix("///") }.joined(separator: "\n")
            #expect(block == built)
            let lines = block.split(separator: "\n")
            #expect(lines.count <= 15)
        }

        @Test func itShowsAListThatIsLive() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            try api.post(["author": "bob", "body": "disk is full"], to: "ops")
            let binary = URL(fileURLWithPath: try GatewayProcess.binary())
                .deletingLastPathComponent().appendingPathComponent("gapless-example")
            let log = gateway.directory.appendingPathComponent("example.log")
            // A line at a time: written to a file, the output would be kept back.
            let child = try ChildProcess(
                "/usr/bin/stdbuf", ["-oL", binary.path, "ws://127.0.0.1:\(gateway.port)/v1/ws"],
                log: log.path)
            defer { child.kill() }
            func shows(_ text: String) -> Bool {
                (try? String(contentsOf: log, encoding: .utf8))?.contains(text) ?? false
            }
            #expect(try await eventually { shows("bob disk is full") })
            #expect(try await eventually { shows("alice hello from Swift") })
            try api.post(["author": "bob", "body": "disk is empty"], to: "ops")
            #expect(try await eventually { shows("3 messages, 0 gaps\n") })
            #expect(try await eventually { shows("bob disk is empty") })
        }
    }
}

extension LiveClient {
    /// The bot that is built as `gapless-bot` answers, also what was said while it was away.
    @Suite struct Bot {
        private func bot(_ gateway: GatewayProcess) throws -> ChildProcess {
            let folder = URL(fileURLWithPath: try GatewayProcess.binary())
                .deletingLastPathComponent()
            return try ChildProcess(
                folder.appendingPathComponent("gapless-bot").path,
                [
                    "ws://127.0.0.1:\(gateway.port)/v1/ws",
                    gateway.directory.appendingPathComponent("bot.db").path,
                ], log: gateway.directory.appendingPathComponent("bot.log").path)
        }

        @Test func itAnswersWhatWasSaidWhileItWasAway() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bot"]])
            func texts() throws -> [String] {
                (try api.page("ops", "after=0&order=asc")["messages"].array ?? []).map {
                    "\($0["author"].string ?? ""): \($0["body"].string ?? "")"
                }
            }
            var child = try bot(gateway)
            defer { child.kill() }
            // Said before it has begun, a message is history and stays without an answer.
            #expect(
                try await eventually {
                    try api.post(["author": "alice", "body": "!ping"], to: "ops")
                    try await Task.sleep(for: .milliseconds(50))
                    return try texts().contains("bot: pong")
                })
            child.kill()
            try api.post(["author": "alice", "body": "!echo one by one"], to: "ops")
            child = try bot(gateway)
            #expect(try await eventually { try texts().last == "bot: one by one" })
            #expect(try texts().count { $0.hasPrefix("bot: one") } == 1)
        }

        @Test func itLeavesNoneOutHoweverLongItWasAway() async throws {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bot"]])
            try api.post(
                (0..<300).map { ["author": "alice", "body": .string("!echo \($0)")] }, to: "ops")
            let child = try bot(gateway)
            defer { child.kill() }
            #expect(
                try await eventually {
                    try api.page("ops", "limit=1")["head"]["seq"] == 600
                })
            let answers = try api.page("ops", "after=300&order=asc&limit=1000")["messages"].array
            #expect(answers?.map { $0["body"].string } == (0..<300).map { "\($0)" })
        }

        @Test func itHasThirtyLines() throws {
            let source = try String(
                contentsOf: QuickStart.root.appendingPathComponent(
                    "Sources/gapless-bot/main.swift"),
                encoding: .utf8)
            let lines = source.split(separator: "\n")
            #expect(lines.count { !$0.hasPrefix("///") } <= 30)
        }
    }
}
