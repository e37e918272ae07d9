import Chat
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Who looks at a list is told of conversations that come into it and leave it, whichever gateway
/// wrote.
@Suite struct ListTests {
    private let server: RedisProcess
    private let watcher: Subject
    private let writer: Subject

    init() throws {
        server = try RedisProcess(keeping: .nothing)
        watcher = Subject(Redis(try server.options()))
        writer = Subject(Redis(try server.options()))
        for subject in [watcher, writer] { try subject.waitUntilOnline() }
        watcher.upstream.submit([.subscribeList(user: "bob")])
        // Acknowledged behind the list, on the same connection.
        try watcher.subscribe("fence")
    }

    /// What the watcher was told of lists so far.
    private func told() throws -> [String] {
        // A fence: what was published before it, on the writer's connection, came before it.
        let before = watcher.outputs.count
        let typing = FeedEvent.typing(
            conversation: "fence", user: "x", .begin, at: Timestamp(milliseconds: 0))
        writer.upstream.submit([.publish(typing)])
        _ = try watcher.outputs.wait("the fence", from: before) { output in
            if case .feed(.typing) = output { true } else { nil }
        }
        return watcher.outputs.events.compactMap { event in
            guard case .listed(let user, let id, let isIn) = event else { return nil }
            return "\(user) \(isIn ? "in" : "out of") \(id)"
        }
    }

    @Test func eachWayInAndOutIsTold() throws {
        try writer.conversation("c1", of: ["alice", "bob"])
        try writer.perform(.removeParticipants(conversation: "c1", ["bob"]))
        try writer.perform(.addParticipants(conversation: "c1", [NewParticipant(user: "bob")]))
        try writer.perform(.leave("c1"), by: .user("bob"))
        try writer.conversation("c1", of: ["bob"])
        try writer.perform(.deleteConversation("c1"))
        let fields = ConversationFields(participants: ["bob"])
        try writer.perform(.create(id: "c2", fields, distinct: false), by: .user("alice"))
        #expect(
            try told() == [
                "bob in c1", "bob out of c1", "bob in c1", "bob out of c1", "bob in c1",
                "bob out of c1", "bob in c2",
            ])
    }

    @Test func whatChangesNobodysListIsNotTold() throws {
        try writer.conversation("c1", of: ["bob"])
        try writer.conversation("c2", of: ["alice"])
        try writer.send("x", by: "bob")
        try writer.perform(.addAdmins(conversation: "c1", ["bob"]))
        try writer.perform(.addParticipants(conversation: "c1", [NewParticipant(user: "bob")]))
        #expect(refusal { try writer.perform(.leave("c2"), by: .user("bob")) } == .notFound)
        #expect(try told() == ["bob in c1"])
    }

    @Test func aListThatNobodyLooksAtIsNotTold() throws {
        watcher.upstream.submit([.unsubscribeList(user: "bob")])
        try watcher.subscribe("fence 2")
        try writer.conversation("c1", of: ["bob"])
        #expect(try told() == [])
    }

    @Test func afterALossTheListIsToldAgain() throws {
        let generation = try watcher.subscribe("c1")
        let before = watcher.outputs.count
        try server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        _ = try watcher.outputs.wait("the next generation", from: before) { output in
            if case .subscribed("c1", let next) = output, next > generation { true } else { nil }
        }
        // The topics of a generation are asked for in no order: this one behind all.
        try watcher.subscribe("fence")
        try writer.waitUntilOnline()
        try writer.conversation("c2", of: ["bob"])
        #expect(try told() == ["bob in c2"])
    }
}
