import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// What is answered while the origin is away: what the gateway has read whole and followed since,
/// as open. That each answer is what the log was at one moment, the oracle looks at.
@Suite struct AwayTests {
    /// Ann watches the conversation, and has read it whole.
    private static func reader(messages: Int = 3) throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: 0)
        try world.subscribe(0)
        for _ in 0..<messages { try Self.speak(world) }
        #expect(Conversation(try world.fetchConversation(0))?.isOpen == false)
        return world
    }

    private static func speak(
        _ world: ReplicaWorld, _ id: String? = nil, by author: String = "ben"
    ) throws {
        let content = MessageContent(id: id, body: "from \(author)")
        let message = NewMessage(author: author, content: content)
        try world.write(.send(conversation: "c1", [message]))
    }

    private static func away(_ world: ReplicaWorld) throws {
        world.hold(.link)
        try world.cut()
    }

    private struct Conversation {
        let isOpen: Bool
        let view: JSONObject

        init?(_ reply: JSONObject?) {
            guard let result = reply?["result"]?.object, let view = result["conversation"]?.object
            else { return nil }
            self.view = view
            isOpen = result["open"]?.bool ?? false
        }

        var unread: Int? { view["unreadCount"]?.int }
        var lastRead: Int? { view["lastReadSeq"]?.int }
        var last: JSONObject? { view["lastMessage"]?.object }
    }

    private static func code(_ reply: JSONObject?) -> String? {
        reply?["error"]?.object?["code"]?.string
    }

    @Test func aConversationIsAnsweredAsItWasWhenTheLinkBroke() throws {
        let world = try Self.reader()
        try world.write(.markRead(conversation: "c1", seq: 2), by: "ann")
        try Self.speak(world, "m4")
        try Self.speak(world, "m5")
        try world.write(.edit(conversation: "c1", id: "m4", .init(body: "edited")), by: "ben")
        try world.write(.delete(conversation: "c1", id: "m5"), by: "ben")
        try world.write(.update(conversation: "c1", .init(title: "Ops")), by: "ann")
        try Self.away(world)
        try Self.speak(world)
        let shown = try #require(Conversation(try world.fetchConversation(0)))
        #expect(shown.isOpen)
        #expect(shown.view["head"]?.object?["rev"]?.int == 9)
        #expect(shown.view["title"]?.string == "Ops")
        #expect(shown.last?["seq"]?.int == 4)
        #expect(shown.lastRead == 2)
        #expect(shown.unread == 2)
        try world.release(.link)
        try world.pass(20)
        let fresh = try #require(Conversation(try world.fetchConversation(0)))
        #expect(!fresh.isOpen && fresh.unread == 3)
        #expect(!world.held(by: 0).isOpen)
        try world.settle()
    }

    @Test func manyChangesAreFollowed() throws {
        let world = try Self.reader()
        for _ in 0..<40 {
            let lines = (0..<20).map { _ in
                NewMessage(author: "ben", content: MessageContent(body: "text"))
            }
            try world.write(.send(conversation: "c1", lines))
        }
        try Self.speak(world, by: "ann")
        try Self.speak(world)
        try Self.away(world)
        let shown = try #require(Conversation(try world.fetchConversation(0)))
        #expect(shown.lastRead == 804)
        #expect(shown.unread == 1)
        try world.settle()
    }

    @Test func whatWasNotReadIsNotAnswered() throws {
        let world = try ReplicaStory.begin(messages: 3)
        try world.subscribe(0)
        try Self.away(world)
        #expect(Self.code(try world.fetchConversation(0)) == "origin_unavailable")
        #expect(Self.code(try world.fetchConversation(0, "c2")) == "origin_unavailable")
        try world.settle()
    }

    @Test func whatWasNotFollowedIsNotAnswered() throws {
        let world = try Self.reader()
        world.hold(.link)
        try world.cut()
        // The feed is joined again, and nothing says what was read meanwhile.
        world.hold(.origin)
        world.hold(.questions)
        try world.release(.link)
        world.hold(.link)
        try world.cut()
        #expect(Self.code(try world.fetchConversation(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func whoWasRemovedIsNotAnswered() throws {
        let world = try Self.reader()
        try world.write(.removeParticipants(conversation: "c1", ["ann"]))
        try world.write(.addParticipants(conversation: "c1", [NewParticipant(user: "ann")]))
        try Self.away(world)
        #expect(Self.code(try world.fetchConversation(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func anAnswerThatIsOlderThanAMarkerTakesIt() throws {
        let world = try ReplicaStory.begin(messages: 0)
        try world.subscribe(0)
        for _ in 0..<3 { try Self.speak(world) }
        world.hold(.answers)
        _ = try world.fetchConversation(0)
        try world.write(.markRead(conversation: "c1", seq: 1), by: "ann")
        try Self.speak(world)
        try world.release(.answers)
        try Self.away(world)
        let shown = try #require(Conversation(try world.fetchConversation(0)))
        #expect(shown.lastRead == 1)
        #expect(shown.unread == 3)
        try world.settle()
    }

    @Test func aDamagedLogIsNotAnswered() throws {
        let world = try Self.reader()
        world.damage("messages")
        try Self.away(world)
        #expect(Self.code(try world.fetchConversation(0)) == "origin_unavailable")
        try world.settle()
    }
}
