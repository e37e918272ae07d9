import Foundation
import GaplessClient
import GaplessFoundation
import GaplessTesting
import TestSupport
import Testing
import Wire

/// What an app waits for, and is told when it fails.
@MainActor @Suite struct DeliveryTests {
    private let gateway = TestGateway()

    init() { gateway.open("ops", title: "Ops", participants: ["alice", "bob"]) }

    private func live(_ options: ChatClient.Options = .init()) async throws -> ChatClient {
        let client = try ChatClient(
            url: "ws://test.invalid/v1/ws", options: options,
            transport: gateway.network.transport()
        ) { _ in .user("alice") }
        await gateway.connected(client)
        return client
    }

    private func error(_ body: () async throws -> Message) async -> ClientError? {
        do { _ = try await body() } catch { return error as? ClientError }
        return nil
    }

    @Test func aMessageIsAwaitedThroughAnOutage() async throws {
        let client = try await live()
        let sent = try await client.deliver("now", to: "ops", id: "mine")
        #expect(sent.id == "mine" && sent.seq == 1)
        // It is known a moment later too, and sent once.
        #expect(try await client.delivery(of: "mine", in: "ops").seq == 1)
        #expect(try await client.deliver("now", to: "ops", id: "mine").seq == 1)
        gateway.isReachable = false
        let waiting = Task { try await client.deliver("later", to: "ops") }
        while await client.drafts(in: "ops").isEmpty { await Task.yield() }
        gateway.isReachable = true
        await gateway.advance(by: .seconds(60))
        #expect(try await waiting.value.seq == 2)
    }

    @Test func whatBecomesOfADraftIsSaid() async throws {
        let client = try await live()
        gateway.answer("sendMessage") { _ in .refusal(.notAuthor) }
        let refused = await error { try await client.deliver("no", to: "ops", id: "refused") }
        guard case .refused(let why) = refused else { throw refused ?? .closed }
        #expect(why.code == .forbidden && why.reason == .notAuthor)
        let again = await error { try await client.delivery(of: "refused", in: "ops") }
        #expect(again == refused)
        gateway.answer("sendMessage") { _ in .silence }
        let id = client.send("never", to: "ops")
        let given = Task { await self.error { try await client.delivery(of: id, in: "ops") } }
        let cancelled = Task { try await client.delivery(of: id, in: "ops") }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await Task.yield()
        client.discard(id, in: "ops")
        #expect(await given.value == .discarded)
        guard
            case .refused(let unknown) = await error({
                try await client.delivery(of: "nothing", in: "ops")
            })
        else {
            Issue.record("a draft that never was")
            return
        }
        #expect(unknown.reason == .draftUnknown)
    }

    @Test func errorsSayWhatWasWrong() {
        let refused = ClientError.refused(RequestError(.limitMessage, "body: 33000 bytes"))
        #expect(
            (refused as any Error).localizedDescription
                == "the gateway refused this (too_large): body: 33000 bytes")
        #expect((ClientError.disconnected as any Error).localizedDescription.contains("connection"))
        #expect((ChatClient.SetupError.badURL as any Error).localizedDescription.contains("ws://"))
        #expect(
            (RequestError(.notAuthor, "no") as any Error).localizedDescription == "forbidden: no")
    }

    @Test func aTypistWhoSaysNoMoreHasFinished() async throws {
        let client = try await live()
        let updates = client.subscribeMessages(conversation: "ops")
        var isLive = false
        var states: [TypingState] = []
        for await update in updates {
            if case .live(true) = update, !isLive {
                isLive = true
                gateway.type("bob", in: "ops")
                await gateway.advance(by: .milliseconds(4_000))
                gateway.type("bob", in: "ops")
                await gateway.advance(by: .milliseconds(4_900))
                gateway.write("still there", by: "bob", in: "ops")
                await gateway.advance(by: .milliseconds(200))
            }
            if case .changed = update { #expect(states == [.begin, .begin]) }
            if case .typing("bob", let state) = update { states.append(state) }
            if states.last == .finished { break }
        }
        #expect(states == [.begin, .begin, .finished])
    }

    @Test func theTotalsAreToldAndDoubtedWithoutAConnection() async throws {
        var options = ChatClient.Options()
        options.countsUnread = true
        let client = try await live(options)
        #expect(gateway.requests("connect").first?.params["unread"]?.bool == true)
        var seen: [UnreadSum] = []
        gateway.push(
            #"{"event":"unread","messages":3,"conversations":2,"mentions":1,"of":[{"#
                + #""conversation":"ops","lastReadSeq":4,"unreadCount":2,"unreadMentions":1}]}"#)
        for await total in client.unreadTotals() {
            seen.append(total)
            if seen.count == 1 { gateway.cut() }
            if seen.count == 2 { break }
        }
        let parts = ["ops": UnreadSum.Part(lastReadSeq: 4, messages: 2, mentions: 1)]
        #expect(
            seen == [
                UnreadSum(messages: 3, conversations: 2, mentions: 1, of: parts),
                UnreadSum(messages: 3, conversations: 2, mentions: 1, of: parts, isOpen: true),
            ])
    }
}
