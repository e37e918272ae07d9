import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// Lists that are answered while the origin is away: those that the gateway has read whole and
/// followed since, as open. The oracle looks at each, whether it is what the origin held.
@Suite struct AwayListTests {
    /// Ann watches her list, of conversations that were written to in this order.
    private static func watcher(
        _ conversations: [String] = ["c1", "c2", "c3"]
    ) throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: 1)
        for id in conversations where id != "c1" {
            try world.write(.put(id: id, .init(participants: ["ann", "ben"])))
            try Self.speak(world, to: id)
        }
        try world.watch(0)
        // Its conversations are followed, and then it is read once more.
        try world.pass(30)
        return world
    }

    private static func speak(
        _ world: ReplicaWorld, _ id: String? = nil, to conversation: String = "c1",
        by author: String = "ben"
    ) throws {
        let message = NewMessage(author: author, content: MessageContent(id: id, body: "text"))
        try world.write(.send(conversation: conversation, [message]))
    }

    private static func away(_ world: ReplicaWorld) throws {
        world.hold(.link)
        try world.cut()
    }

    private static func comeBack(_ world: ReplicaWorld) throws {
        try world.release(.link)
        try world.pass(30)
    }

    private struct List {
        let result: JSONObject

        init?(_ reply: JSONObject?) {
            guard let result = reply?["result"]?.object else { return nil }
            self.result = result
        }

        var isOpen: Bool { result["open"]?.bool ?? false }
        var views: [JSONObject] { result["conversations"]?.array?.compactMap(\.object) ?? [] }
        var ids: [String] { views.compactMap { $0["id"]?.string } }
        var unread: [Int] { views.compactMap { $0["unreadCount"]?.int } }
        var removed: [String] { result["removed"]?.array?.compactMap(\.string) ?? [] }
        var total: Int? { result["total"]?.int }
        var next: String? { result["next"]?.string }
        var isComplete: Bool { result["complete"]?.bool ?? false }
    }

    private static func code(_ reply: JSONObject?) -> String? {
        reply?["error"]?.object?["code"]?.string
    }

    @Test func theListIsAnsweredAsItWasWhenTheLinkBroke() throws {
        let world = try Self.watcher()
        #expect(List(try world.fetchConversations(0))?.isOpen == false)
        try Self.speak(world, to: "c2")
        try Self.speak(world, "m", to: "c1")
        try world.write(.delete(conversation: "c1", id: "m"), by: "ben")
        try world.write(.markRead(conversation: "c3", seq: 1), by: "ann")
        try Self.away(world)
        try Self.speak(world, to: "c3")
        let list = try #require(List(try world.fetchConversations(0)))
        #expect(list.isOpen && list.total == 3)
        // A message that was deleted still counts as activity.
        #expect(list.ids == ["c1", "c2", "c3"])
        #expect(list.unread == [0, 2, 0])
        try Self.comeBack(world)
        let fresh = try #require(List(try world.fetchConversations(0)))
        #expect(!fresh.isOpen && fresh.ids == ["c3", "c1", "c2"])
        try world.settle()
    }

    /// One edit in a conversation leaves the list of nobody unknown for long.
    @Test func anEditOfAMentionLeavesTheListKnown() throws {
        let world = try Self.watcher()
        func edit(_ id: String, _ edit: MessageEdit) throws {
            try world.write(.edit(conversation: "c1", id: id, edit), by: "ben")
        }
        func mention(_ id: String) throws {
            let content = MessageContent(id: id, body: "text", mentions: ["ann"])
            let message = NewMessage(author: "ben", content: content)
            try world.write(.send(conversation: "c1", [message]))
        }
        func mentions(_ list: List) -> Int? {
            list.views.first { $0["id"]?.string == "c1" }?["unreadMentions"]?.int
        }
        try mention("m")
        // Followed from the change on: nothing is unknown.
        try edit("m", MessageEdit(body: "typo"))
        try Self.away(world)
        let known = try #require(List(try world.fetchConversations(0)))
        #expect(known.isOpen && mentions(known) == 1)
        try Self.comeBack(world)
        // Counted by the origin: it is asked.
        try edit("m", MessageEdit(mentions: []))
        try world.pass(12)
        try Self.away(world)
        let asked = try #require(List(try world.fetchConversations(0)))
        #expect(asked.isOpen && mentions(asked) == 0)
        try Self.comeBack(world)
        try world.settle()
    }

    @Test func pagesGoOnBetweenOriginAndGateway() throws {
        let world = try Self.watcher(["c1", "c2", "c3", "c4", "c5"])
        let first = try #require(List(try world.fetchConversations(0, limit: 2)))
        #expect(first.ids == ["c5", "c4"] && !first.isOpen)
        try Self.away(world)
        let second = try #require(List(try world.fetchConversations(0, limit: 2, goesOn: true)))
        #expect(second.ids == ["c3", "c2"] && second.isOpen && second.total == 5)
        try Self.comeBack(world)
        let third = try #require(List(try world.fetchConversations(0, limit: 2, goesOn: true)))
        #expect(third.ids == ["c1"] && third.next == nil && !third.isOpen)
        try world.settle()
    }

    @Test func whoComesBackWithATokenIsToldWhatChanged() throws {
        let world = try Self.watcher()
        _ = try world.rewatch(0)
        try Self.speak(world, to: "c2")
        try Self.away(world)
        let news = try #require(List(try world.rewatch(0)))
        #expect(news.isOpen && news.isComplete && news.total == 3)
        #expect(news.ids == ["c2"] && news.removed.isEmpty)
        // Its token goes on from there.
        let none = try #require(List(try world.rewatch(0)))
        #expect(none.isComplete && none.ids.isEmpty)
        try Self.speak(world, to: "c1")
        try world.write(.removeParticipants(conversation: "c2", ["ann"]))
        try Self.comeBack(world)
        let late = try #require(List(try world.rewatch(0)))
        #expect(!late.isOpen && late.isComplete && late.ids == ["c1"])
        #expect(Set(late.removed).isSuperset(of: ["c2"]))
        try world.settle()
    }

    /// The feed may tell late, and mean a log that another one has followed, in which she is: the
    /// list is read again at once, and its token is another one.
    @Test func whatSomethingLeftIsReadAgainBeforeItIsAnswered() throws {
        let world = try Self.watcher()
        _ = try world.rewatch(0)
        try world.write(.removeParticipants(conversation: "c3", ["ann"]))
        try Self.away(world)
        let list = try #require(List(try world.rewatch(0)))
        #expect(list.isOpen && !list.isComplete && list.ids == ["c2", "c1"])
        try Self.comeBack(world)
        try world.settle()
    }

    @Test func aTokenOfAnotherPlaceIsNotCompared() throws {
        let world = try Self.watcher()
        _ = try world.rewatch(0)
        try world.write(.removeParticipants(conversation: "c3", ["ann"]))
        // The list is read again, as of a place behind the token's.
        try world.cut()
        try world.pass(40)
        try Self.away(world)
        let list = try #require(List(try world.rewatch(0)))
        #expect(list.isOpen && !list.isComplete && list.ids == ["c2", "c1"])
        try world.settle()
    }

    @Test func whoWasRemovedDoesNotComeBack() throws {
        let world = try Self.watcher()
        try world.write(.removeParticipants(conversation: "c2", ["ann"]))
        try Self.away(world)
        let list = try #require(List(try world.fetchConversations(0)))
        #expect(list.ids == ["c3", "c1"] && list.total == 2)
        #expect(Self.code(try world.fetchConversation(0, "c2")) == "origin_unavailable")
        try world.settle()
    }

    @Test func whoJoinedIsThereOnceItWasRead() throws {
        let world = try Self.watcher()
        try world.write(.put(id: "c4", .init(participants: ["ben", "ann"])))
        try world.pass(20)
        try Self.away(world)
        #expect(List(try world.fetchConversations(0))?.ids == ["c4", "c3", "c2", "c1"])
        try world.settle()
    }

    /// A reading from before the feed's report does not tell the watcher of a departure. The oracle
    /// looks at each event.
    @Test func aReadingThatIsOlderThanTheFeedTellsOfNoDeparture() throws {
        let world = try ReplicaStory.begin(messages: 1)
        world.hold(.answers)
        try world.watch(0)
        try world.write(.put(id: "c2", .init(participants: ["ben", "ann"])))
        try world.release(.answers)
        try world.pass(20)
        #expect(List(try world.fetchConversations(0))?.ids == ["c2", "c1"])
        try world.settle()
    }

    @Test func aListThatWasNotReadIsNotAnswered() throws {
        let world = try ReplicaStory.begin(messages: 1)
        try Self.away(world)
        #expect(Self.code(try world.fetchConversations(0)) == "origin_unavailable")
        #expect(Self.code(try world.rewatch(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func aListThatWasNotFollowedIsNotAnswered() throws {
        let world = try Self.watcher()
        try Self.away(world)
        #expect(List(try world.fetchConversations(0))?.isOpen == true)
        // The feed is joined again, and nothing says what happened meanwhile.
        world.hold(.questions)
        try world.release(.link)
        try Self.away(world)
        #expect(Self.code(try world.fetchConversations(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func aConversationOfWhichAPartIsDamagedSpoilsTheList() throws {
        let world = try Self.watcher()
        world.damage("messages")
        try Self.away(world)
        #expect(Self.code(try world.fetchConversations(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func nothingOlderIsAnsweredThanWasShown() throws {
        let world = try Self.watcher()
        world.hold(.feed)
        try Self.speak(world)
        #expect(List(try world.fetchConversations(0))?.unread == [1, 1, 1])
        world.hold(.origin)
        // The answer showed that the feed is behind, and the gateway has read what it lacked.
        #expect(List(try world.fetchConversations(0))?.unread == [1, 1, 1])
        try world.release(.origin, .feed)
        try world.settle()
    }

    /// What it costs to know a list: it is read when the feed begins to tell of it, and once more
    /// when the feed tells of all its conversations.
    @Test func toKnowAListCostsTwoReadings() throws {
        let world = try ReplicaStory.begin(messages: 1)
        for at in 2...20 {
            try world.write(.put(id: "c\(at)", .init(participants: ["ann", "ben"])))
        }
        _ = world.questions()
        try world.watch(0)
        try world.pass(300)
        #expect(world.questions().readings == 2)
        try world.write(.put(id: "c21", .init(participants: ["ben", "ann"])))
        try world.pass(300)
        let joined = world.questions()
        #expect(joined.readings == 0)
        #expect(joined.count { $0 == .conversation("c21", reader: "ann") } == 1)
        try world.settle()
    }
}

extension [HistoryQuery] {
    fileprivate var readings: Int {
        count { if case .listed = $0 { true } else { false } }
    }
}
