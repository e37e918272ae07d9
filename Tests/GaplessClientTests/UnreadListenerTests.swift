import GaplessClient
import GaplessTesting
import Synchronization
import TestSupport
import Testing

/// A listener that is not read, or slow, is told in short, and nobody else waits for it.
@MainActor @Suite struct UnreadListenerTests {
    private let gateway = TestGateway()

    init() { gateway.open("ops", title: "Ops", participants: ["alice", "bob"]) }

    private func until(_ condition: () async throws -> Bool) async throws {
        let deadline = Deadline.after(.seconds(120))
        while try await !condition() {
            try #require(!deadline.isOver)
            await Task.yield()
        }
    }

    private func live() async throws -> ChatClient {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        return client
    }

    /// Takes what waits, up to a message, by the updates.
    private func read(
        _ updates: Updates<ConversationUpdate>, upTo body: String
    ) async -> (window: MessageWindow, begun: Int) {
        var (window, begun) = (MessageWindow(conversation: "ops", reader: "alice"), 0)
        for await update in updates {
            if case .began = update { begun += 1 }
            _ = window.take(update)
            if window.timeline.items.last?.body == body, window.isLive { break }
        }
        return (window, begun)
    }

    @Test func questionsAreAnsweredWhileAListenerIsNotRead() async throws {
        let client = try await live()
        let kept = client.subscribeMessages(conversation: "ops")
        let list = client.subscribeConversations()
        for number in 0..<23 { client.send("mine \(number)", to: "ops") }
        for number in 0..<2_500 {
            gateway.write("\(number)", by: "bob", in: "ops")
            if number.isMultiple(of: 500) { await gateway.network.settle() }
        }
        let page = try await client.fetchMessages(conversation: "ops")
        #expect(page.messages.contains { $0.body == "2499" })
        #expect(try await client.fetchConversation("ops").lastMessage?.body == "2499")
        // Who reads again has what the client has, and gaps for the rest.
        let (window, begun) = await read(kept, upTo: "2499")
        #expect(begun >= 1)
        #expect(window.timeline.items.map(\.body) == (2_400..<2_500).map { "\($0)" })
        #expect(window.timeline.coverage == [[2_424, 2_523]])
        #expect(window.gaps.isEmpty)
        var last: [Conversation] = []
        for await update in list {
            if case .all(let all) = update { last = all }
            if case .changed(_, let all) = update { last = all }
            if last.first?.lastMessage?.body == "2499" { break }
        }
        #expect(last.map(\.id) == ["ops"])
    }

    @Test func whoReadsSeesEachMessageBesideOneWhoDoesNot() async throws {
        let client = try await live()
        let kept = client.subscribeMessages(conversation: "ops")
        let read = client.subscribeMessages(conversation: "ops")
        let seen = Mutex(0)
        let bodies = Task.detached {
            var bodies: [String] = []
            for await update in read {
                bodies += (update.frame?.messages ?? []).compactMap(\.body)
                seen.withLock { $0 = bodies.count }
                if bodies.last == "2499" { break }
            }
            return bodies
        }
        try await until { gateway.requests("subscribeMessages").count == 1 }
        await gateway.network.settle()
        for number in 0..<2_500 {
            gateway.write("\(number)", by: "bob", in: "ops")
            if number.isMultiple(of: 500) { try await until { seen.withLock { $0 > number } } }
        }
        #expect(await bodies.value == (0..<2_500).map { "\($0)" })
        withExtendedLifetime(kept) {}
    }

    @Test func aHandlerMayAskWhileMuchComes() async throws {
        let client = try await live()
        let state = Mutex((messages: [Message](), answers: 0, missing: 0))
        let task = client.subscribeMessages(conversation: "ops") { deltas, news in
            let answer = try? await client.fetchConversation("ops")
            state.withLock { state in
                state.messages = applyDelta(deltas, toList: state.messages)
                if answer != nil { state.answers += 1 }
                state.missing = news.gaps.count
            }
        }
        for number in 0..<2_500 { gateway.write("\(number)", by: "bob", in: "ops") }
        try await until { state.withLock { $0.messages.contains { $0.body == "2499" } } }
        let (messages, answers, missing) = state.withLock { $0 }
        // It is told each message once, be it in short, or that some are missing.
        let seqs = messages.compactMap(\.seq).sorted()
        #expect(Set(seqs).count == seqs.count && answers > 0)
        #expect(missing > 0 || seqs == Array((seqs.first ?? 0)...2_500))
        task.cancel()
    }

    @Test func aLoopThatEndedLeavesItsValueBehind() async throws {
        let client = try await live()
        let updates = client.subscribeMessages(conversation: "ops")
        let task = Task { for await _ in updates {} }
        try await until { gateway.requests("subscribeMessages").count == 1 }
        task.cancel()
        await task.value
        for number in 0..<2_500 { gateway.write("\(number)", by: "bob", in: "ops") }
        #expect(try await client.fetchConversation("ops").lastMessage?.body == "2499")
        // The next loop over it goes on.
        #expect(await read(updates, upTo: "2499").window.gaps.isEmpty)
    }

    @Test func whoHoldsUpAHandlerIsToldOfTheConnection() async throws {
        let client = try gateway.client("alice")
        let isHeld = Mutex(true)
        client.pubsub.onConnect {
            while isHeld.withLock({ $0 }) { await Task.yield() }
        }
        await gateway.connected(client)
        try await until { client.pubsub.isConnected }
        let updates = client.subscribeMessages(conversation: "ops")
        for number in 0..<2_500 { gateway.write("\(number)", by: "bob", in: "ops") }
        gateway.isReachable = false
        try await until { !client.pubsub.isConnected }
        isHeld.withLock { $0 = false }
        withExtendedLifetime(updates) {}
    }
}
