import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// What happens to a client in the middle of a catch-up. A client that resumes there lacks nothing
/// of what was stored meanwhile. A user who was removed during the outage is sent nothing that was
/// written after that. The oracle judges each frame by both rules.
@Suite struct CatchUpTraceTests {
    private static let unsubscribed = ReplicaWorld.Held(asOf: 0, runs: [], isSubscribed: false)

    /// Ann and Ben watch, and the gateway's link is cut. Parts of the chain hold two changes.
    private func cut(pages: Int = 100) throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: 10) {
            $0.page = 2
            $0.pages = pages
        }
        try world.subscribe(0)
        try world.join(1)
        try world.subscribe(1)
        world.hold(.link)
        try world.cut()
        return world
    }

    private func benSays(_ count: Int, in world: ReplicaWorld) throws {
        for _ in 0..<count {
            try world.write(
                .send(
                    conversation: "c1",
                    [NewMessage(author: "ben", content: MessageContent(body: "secret"))]))
        }
    }

    private func removeAnn(from world: ReplicaWorld) throws {
        try world.write(.removeParticipants(conversation: "c1", ["ann"]))
    }

    @Test(arguments: [1, 100])
    func aClientThatResumesInTheMiddleOfAChainIsToldWhatItHasStored(pages: Int) throws {
        let world = try cut(pages: pages)
        try world.leave(0)
        for place in 1...4 { try world.change(place, deleting: place == 2) }
        try world.say(40)
        world.hold(.answers)
        try world.release(.link)
        // The head, and some parts of the chain: the edits are stored and not told to all.
        for _ in 1...4 { try world.answerOnce() }
        try world.join(0)
        // Up to the position nothing has changed: the `asOf` of Ann is the stream's.
        try world.subscribe(0, resuming: true)
        try world.release(.answers)
        try world.pass(40)
        #expect(world.held(by: 0).asOf == world.head()?.rev)
        try world.settle()
    }

    @Test func aUserRemovedDuringAnOutageHearsNothingSaidAfterwards() throws {
        let world = try cut()
        try removeAnn(from: world)
        try benSays(3, in: world)
        try world.release(.link)
        try world.pass(10)
        #expect(world.held(by: 0) == Self.unsubscribed)
        #expect(world.held(by: 1).runs == [[1, 13]])
        try world.settle()
    }

    @Test func aLaterChangeOfTheRecordDoesNotHideARemoval() throws {
        let world = try cut()
        try removeAnn(from: world)
        try benSays(7, in: world)
        try world.write(.update(conversation: "c1", .init(title: "new")))
        try benSays(7, in: world)
        try world.release(.link)
        try world.pass(10)
        #expect(world.held(by: 0) == Self.unsubscribed)
        #expect(world.held(by: 1).runs == [[1, 24]])
        try world.settle()
    }

    @Test func theNewestPageIsNotShownToAUserRemovedMeanwhile() throws {
        let world = try cut(pages: 1)
        try world.say(20)
        world.hold(.answers)
        try world.release(.link)
        // The head, and the first part of the chain: the newest page comes next.
        for _ in 1...2 { try world.answerOnce() }
        world.loseFeed()
        world.hold(.feed)
        try removeAnn(from: world)
        try benSays(3, in: world)
        try world.release(.answers)
        try world.release(.feed)
        try world.pass(20)
        #expect(world.held(by: 0) == Self.unsubscribed)
        #expect(world.held(by: 1).runs == [[1, 33]])
        try world.settle()
    }

    @Test func aRemovalThatTheFeedLosesHoldsBackWhatFollows() throws {
        let world = try ReplicaStory.begin(messages: 10)
        try world.subscribe(0)
        world.hold(.feed)
        try removeAnn(from: world)
        world.loseFeed()
        try world.release(.feed)
        world.hold(.questions)
        try benSays(3, in: world)
        #expect(world.held(by: 0) == .init(asOf: 11, runs: [[1, 10]], isOpen: true))
        try world.release(.questions)
        try world.pass(10)
        #expect(world.held(by: 0) == Self.unsubscribed)
        try world.settle()
    }
}
