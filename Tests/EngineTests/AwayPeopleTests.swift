import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// Who takes part, answered while the origin is away where the gateway has read all of them and
/// followed the conversation since. The oracle looks at each open answer.
@Suite struct AwayPeopleTests {
    /// Ann watches the conversation, and has asked who takes part.
    private static func asker() throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: 2)
        try world.subscribe(0)
        #expect(People(try world.fetchParticipants(0))?.isOpen == false)
        return world
    }

    private static func away(_ world: ReplicaWorld) throws {
        world.hold(.link)
        try world.cut()
    }

    private struct People {
        let isOpen: Bool
        let read: [String: Int]
        let total: Int?

        init?(_ reply: JSONObject?) {
            guard let result = reply?["result"]?.object else { return nil }
            isOpen = result["open"]?.bool ?? false
            total = result["total"]?.int
            let people = result["participants"]?.array?.compactMap(\.object) ?? []
            read = Dictionary(
                people.map { ($0["id"]?.string ?? "", $0["lastReadSeq"]?.int ?? -1) },
                uniquingKeysWith: { $1 })
        }
    }

    private static func code(_ reply: JSONObject?) -> String? {
        reply?["error"]?.object?["code"]?.string
    }

    @Test func theyAreAnsweredAsTheyWereWhenTheLinkBroke() throws {
        let world = try Self.asker()
        try world.write(.markRead(conversation: "c1", seq: 1), by: "ben")
        let message = NewMessage(author: "ann", content: MessageContent(body: "mine"))
        try world.write(.send(conversation: "c1", [message]))
        try Self.away(world)
        try world.write(.markRead(conversation: "c1", seq: 3), by: "ben")
        let people = try #require(People(try world.fetchParticipants(0)))
        #expect(people.isOpen && people.total == 2 && people.read == ["ann": 3, "ben": 1])
        let part = ParticipantsRequest(limit: 1, offset: 1, order: .asc)
        #expect(People(try world.fetchParticipants(0, part))?.read == ["ben": 1])
        #expect(world.openPeople == 2)
        try world.release(.link)
        try world.pass(20)
        let fresh = try #require(People(try world.fetchParticipants(0)))
        #expect(!fresh.isOpen && fresh.read == ["ann": 3, "ben": 3])
        try world.settle()
    }

    @Test func whatWasNotReadWholeIsNotAnswered() throws {
        let world = try ReplicaStory.begin(messages: 2)
        try world.subscribe(0)
        let part = ParticipantsRequest(limit: 1, order: .asc)
        #expect(People(try world.fetchParticipants(0, part))?.read.count == 1)
        try Self.away(world)
        #expect(Self.code(try world.fetchParticipants(0, part)) == "origin_unavailable")
        #expect(Self.code(try world.fetchParticipants(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func whoCameOrWentSinceHasThemReadOnceMore() throws {
        let world = try Self.asker()
        try world.write(.addParticipants(conversation: "c1", [NewParticipant(user: "cat")]))
        try Self.away(world)
        #expect(Self.code(try world.fetchParticipants(0)) == "origin_unavailable")
        try world.release(.link)
        try world.pass(20)
        #expect(People(try world.fetchParticipants(0))?.total == 3)
        try Self.away(world)
        #expect(People(try world.fetchParticipants(0))?.total == 3)
        try world.settle()
    }

    @Test func whoWasRemovedIsNotAnswered() throws {
        let world = try Self.asker()
        try world.write(.removeParticipants(conversation: "c1", ["ann"]))
        try Self.away(world)
        #expect(Self.code(try world.fetchParticipants(0)) != nil)
        try world.settle()
    }

    @Test func whatWasNotFollowedIsNotAnswered() throws {
        let world = try Self.asker()
        try Self.away(world)
        #expect(People(try world.fetchParticipants(0))?.isOpen == true)
        world.hold(.questions)
        try world.release(.link)
        try Self.away(world)
        #expect(Self.code(try world.fetchParticipants(0)) == "origin_unavailable")
        try world.settle()
    }

    @Test func aMarkerThatMovedBehindTheAnswerIsNotLost() throws {
        let world = try ReplicaStory.begin(messages: 2)
        try world.subscribe(0)
        world.hold(.answers)
        _ = try world.fetchParticipants(0)
        try world.write(.markRead(conversation: "c1", seq: 2), by: "ben")
        try world.release(.answers)
        try Self.away(world)
        #expect(People(try world.fetchParticipants(0))?.read["ben"] == 2)
        try world.settle()
    }

    /// The gateway follows a log of Ann and Ben, and the origin has one of Ben.
    @Test func whoIsOutOfTheLogIsNotToldWhoTakesPart() throws {
        let world = try ReplicaStory.begin(messages: 0) { $0.verifyInterval = 60_000 }
        try world.write(.removeParticipants(conversation: "c1", ["ann"]))
        try world.write(.addParticipants(conversation: "c1", [NewParticipant(user: "ann")]))
        try world.subscribe(0)
        world.windBack(by: 1)
        #expect(Self.code(try world.fetchParticipants(0)) == "not_found")
        try world.settle()
    }

    /// A feed that only notifies tells of a marker behind the changes that were made after it.
    @Test func aMarkerMayComeBehindALaterChange() throws {
        let world = try ReplicaStory.begin(messages: 2, isRinging: true)
        try world.subscribe(0)
        #expect(People(try world.fetchParticipants(0))?.isOpen == false)
        world.hold(.feed)
        world.sayUnheard("rings")
        world.sayUnheard("rings once more")
        world.perform(.markRead(conversation: "c1", seq: 2), by: .user("ben"))
        world.sayUnheard("is read with it")
        try world.hearOnce()
        try world.hearOnce()
        #expect(world.held(by: 0).runs == [[1, 5]])
        world.hold(.origin)
        let people = try #require(People(try world.fetchParticipants(0)))
        #expect(people.isOpen && people.read == ["ann": 5, "ben": 0])
        try world.settle()
    }

    @Test func aDamagedLogIsNotAnswered() throws {
        let world = try Self.asker()
        world.damage("members")
        try Self.away(world)
        #expect(Self.code(try world.fetchParticipants(0)) == "origin_unavailable")
        try world.settle()
    }
}
