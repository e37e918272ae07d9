import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// The six bugs that recur in every chat client whose cache and fresh pages are joined wrongly,
/// each as far as a gateway can have it.
@Suite struct PeersBugsTests {
    @Test func aHoleBetweenTheCachedAndTheFreshPage() throws {
        let world = try ReplicaStory.begin(messages: 10)
        try world.subscribe(0, limit: 5)
        world.hold(.link)
        try world.cut()
        try world.say(30)
        try world.join(1)
        try world.subscribe(1, limit: 5)
        try world.pass(15)
        #expect(world.isAnswered(1))
        #expect(world.held(by: 1).isOpen)
        try world.release(.link)
        try world.settle()
        #expect(world.held(by: 0).runs == [[6, 40]])
        #expect(world.held(by: 1).runs.last == 40)
        #expect(world.held(by: 1).runs.runs.count == 1)
    }

    @Test func aCursorPoisonedByALiveMessage() throws {
        let world = try ReplicaStory.begin(messages: 3)
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        try world.say(4)
        world.hold(.answers)
        try world.release(.link)
        try world.say()
        // Message 8 came on top of a hole: it moves nothing.
        #expect(world.held(by: 0).asOf == 4)
        #expect(world.held(by: 0).isOpen)
        _ = world.questions()
        try world.release(.answers)
        let since = world.questions().compactMap { query -> Int? in
            if case .changes(_, let since, _, _, _) = query.bare { since } else { nil }
        }
        #expect(since == [4])
        #expect(world.held(by: 0) == .init(asOf: 9, runs: [[1, 8]]))
    }

    @Test func aFetchBeforeTheSubscriptionIsLive() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.wait = 100_000 }
        world.hold(.acknowledgements)
        _ = world.questions()
        try world.subscribe(0)
        #expect(world.questions().isEmpty)
        // What comes between asking for the feed and its beginning is told by no feed.
        try world.say(2)
        try world.release(.acknowledgements)
        #expect(world.held(by: 0).runs == [[1, 5]])
        try world.settle()
    }

    @Test func editsAndDeletionsAreCaughtUp() throws {
        let world = try ReplicaStory.begin(messages: 8)
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        try world.change(2)
        try world.change(5, deleting: true)
        try world.write(.update(conversation: "c1", .init(title: "another")))
        try world.release(.link)
        #expect(world.held(by: 0).asOf == 12)
        try world.settle()
    }

    @Test func nothingHappenedAndNothingIsLost() throws {
        let world = try ReplicaStory.begin(messages: 3)
        try world.subscribe(0)
        _ = world.questions()
        world.hold(.link)
        try world.cut()
        try world.pass(100)
        #expect(world.held(by: 0).isOpen)
        try world.release(.link)
        #expect(world.held(by: 0) == .init(asOf: 4, runs: [[1, 3]]))
        #expect(world.questions().reads == 0)
        // The same for somebody who comes back.
        try world.leave(0)
        try world.join(0)
        try world.subscribe(0, resuming: true)
        #expect(world.held(by: 0).runs == [[1, 3]])
        #expect(world.questions().reads == 0)
    }

    @Test func aPartialReplayIsNotTakenForAllOfIt() throws {
        let world = try ReplicaStory.begin(messages: 3)
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        world.retain(5)
        try world.say(20)
        world.clamp(to: 2)
        try world.release(.link)
        try world.pass(10)
        #expect(world.held(by: 0) == .init(asOf: 24, runs: [[19, 23]]))
        try world.settle()
    }
}
