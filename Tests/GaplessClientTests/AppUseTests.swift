import Foundation
import Glibc
import Testing
import TestSupport

@testable import GaplessClient

extension LiveClient {
    /// What apps do with the client that is no matter of messages.
    @MainActor @Suite struct AppUse {
        /// The recipe of the design, from the main actor: what a handler touches is its own.
        @Test func handlersRunWhereTheyWereMade() async throws {
            let room = try await OpsRoom(messages: 3, isCuttable: true)
            try await room.expectLive()
            let conversation = try await room.client.fetchConversation("ops")
            let list = ManagedMessageList(
                room.client, conversation: conversation, reader: "alice", delegate: nil)
            var (calls, cached) = (0, [Conversation]())
            list.online()
            let connect = room.client.pubsub.onConnect {
                calls += 1
                list.online()
            }
            room.client.pubsub.onDisconnect { list.offline() }
            try await room.cut()
            #expect(try await eventually { !list.feed.isRunning })
            try room.write(1)
            try room.set(.open)
            #expect(try await eventually { list.messageCount() == 4 })
            #expect(calls == 1)
            _ = try await room.client.fetchConversation("ops", cached: { cached.append($0) })
            // One that was removed is not called again.
            connect.cancel()
            try await room.cut()
            try room.set(.open)
            #expect(try await eventually { room.client.pubsub.isConnected })
            #expect(calls == 1 && cached.count <= 1)
        }

        @Test func loopsOverOneSubscriptionShareIt() async {
            let queue = UpdateQueue<Int> { _ in }
            func loop() -> Task<[Int], Never> {
                Task.detached {
                    var taken: [Int] = []
                    while let next = await queue.next() { taken.append(next) }
                    return taken
                }
            }
            let (first, second, cancelled) = (loop(), loop(), loop())
            cancelled.cancel()
            let before = await cancelled.value
            for number in 0..<1_000 {
                queue.push(number)
                if number.isMultiple(of: 50) { await Task.yield() }
            }
            queue.end()
            let (one, two) = (await first.value, await second.value)
            #expect(before.isEmpty && (one + two).sorted() == Array(0..<1_000))
            #expect(one == one.sorted() && two == two.sorted())
        }

        @Test func aStoreBelongsToOneClient() throws {
            let gateway = try GatewayProcess()
            let path = gateway.directory.appendingPathComponent("alice.db").path
            let client = try LiveClient.client(gateway, "alice", store: path)
            #expect(throws: ChatClient.SetupError.self) {
                try LiveClient.client(gateway, "alice", store: path)
            }
            withExtendedLifetime(client) {}
            #expect(FileManager.default.fileExists(atPath: path))
        }

        @Test func aClientLeavesTheProcessAlone() async throws {
            let gateway = try GatewayProcess()
            var (before, after, limits, now) = (sigaction(), sigaction(), rlimit(), rlimit())
            signal(SIGPIPE, SIG_DFL)
            sigaction(SIGPIPE, nil, &before)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
            let client = try LiveClient.client(gateway, "alice")
            client.connect()
            #expect(try await eventually { client.pubsub.isConnected })
            sigaction(SIGPIPE, nil, &after)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now)
            let handlers = [before, after].map {
                unsafeBitCast($0.__sigaction_handler.sa_handler, to: Int.self)
            }
            #expect(handlers[0] == handlers[1])
            #expect(now.rlim_cur == limits.rlim_cur)
        }
    }
}
