import Foundation
import GaplessClient
import Synchronization
import Testing
import TestSupport

extension LiveClient {
    /// Tokens that end, are replaced and are refused.
    @Suite struct Access {
        private static let secret = "0123456789abcdef0123456789abcdef"

        private func gateway(leeway: String = "0s") throws -> GatewayProcess {
            let gateway = try GatewayProcess(starts: false)
            let file = gateway.directory.appendingPathComponent("secret")
            try Data(Self.secret.utf8).write(to: file)
            gateway.settings["auth.mode"] = "jwt"
            gateway.settings["auth.jwt.algorithms"] = "HS256"
            gateway.settings["auth.jwt.secret_file"] = file.path
            gateway.settings["auth.jwt.leeway"] = leeway
            try gateway.start()
            return gateway
        }

        /// What `gapless gentoken` makes.
        private static func token(
            _ gateway: URL, user: String, seconds: Int
        ) throws -> String {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: try GatewayProcess.binary())
            process.arguments = [
                "gentoken", "--user", user, "--ttl", "\(seconds)s", "--set", "auth.mode=jwt",
                "--set",
                "auth.jwt.algorithms=HS256", "--set",
                "auth.jwt.secret_file=\(gateway.appendingPathComponent("secret").path)",
            ]
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            let text = String(decoding: data, as: UTF8.self)
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        @Test func aTokenIsReplacedBeforeItEnds() async throws {
            let gateway = try gateway()
            try gateway.api().put("ops", ["participants": ["alice"]])
            let asked = Mutex<[Bool]>([])
            let directory = gateway.directory
            let url = "ws://127.0.0.1:\(gateway.port)/v1/ws"
            // The client is told of an earlier end, so that a slow machine has time to answer.
            let client = try ChatClient(url: url) { need in
                let count = asked.withLock { asked in
                    asked.append(need.isExpired)
                    return asked.count
                }
                let end = Date.now.addingTimeInterval(2).timeIntervalSince1970 * 1000
                return .token(
                    try Self.token(directory, user: "alice", seconds: count == 1 ? 15 : 3600),
                    expiresAt: Timestamp(milliseconds: Int64(end)))
            }
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            #expect(try await eventually { asked.withLock { $0.count } == 2 })
            // One with a token as short as the first, made later, is cut off; ours is not.
            let other = try ChatClient(url: url) { need in
                need.isExpired
                    ? nil : .token(try Self.token(directory, user: "alice", seconds: 15))
            }
            let states = other.connectionStates().makeAsyncIterator()
            other.connect()
            while let state = await states.next(), state != .closed(code: 3001) {}
            #expect(await follower.isLive)
            #expect(await follower.interrupted == 0)
            #expect(asked.withLock { $0 } == [false, false])
        }

        @Test func aTokenThatRanOutIsReplacedAndTheSessionComesBack() async throws {
            let gateway = try gateway()
            try gateway.api().put("ops", ["participants": ["alice"]])
            let asked = Mutex<[Bool]>([])
            let directory = gateway.directory
            let client = try ChatClient(url: "ws://127.0.0.1:\(gateway.port)/v1/ws") { need in
                asked.withLock { $0.append(need.isExpired) }
                return .token(
                    try Self.token(directory, user: "alice", seconds: need.isExpired ? 3600 : 2))
            }
            let follower = Follower("ops", reader: "alice")
            await follower.follow(client.subscribeMessages(conversation: "ops"))
            client.connect()
            #expect(try await eventually { asked.withLock { $0 } == [false, true] })
            client.wake()
            #expect(try await eventually { await follower.interrupted == 1 })
            #expect(try await eventually { await follower.isLive })
        }

        @Test func aRefusedTokenEndsTheSession() async throws {
            let gateway = try gateway()
            let client = try ChatClient(url: "ws://127.0.0.1:\(gateway.port)/v1/ws") { _ in
                .token("not a token")
            }
            let states = client.connectionStates().makeAsyncIterator()
            client.connect()
            var last = await states.next()
            while let state = last {
                if case .closed = state { break }
                last = await states.next()
            }
            #expect(last == .closed(code: 3500))
            await #expect(throws: ClientError.closed) {
                try await client.fetchConversation("ops")
            }
        }

        @Test func aURLThatIsNoneIsRefused() {
            for url in ["http://localhost", "ws://", "ws://host:0", "ws://host:99999", "ws://a@b"] {
                #expect(throws: ChatClient.SetupError.badURL) {
                    try ChatClient(url: url) { _ in nil }
                }
            }
        }
    }
}
