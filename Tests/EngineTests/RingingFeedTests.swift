import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// A feed that only rings, and reads what it tells: of a place that changed twice meanwhile there
/// is just the newest value. One story each; the world says if a value comes twice.
@Suite struct RingingFeedTests {
    /// Ann watches a conversation whose feed is held back.
    private func story(messages: Int) throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: messages, isRinging: true)
        try world.subscribe(0)
        world.hold(.feed)
        _ = world.questions()
        return world
    }

    @Test func aMessageThatIsSentAndEditedAtOnceComesOnce() throws {
        let world = try story(messages: 3)
        try world.say()
        try world.change(4)
        try world.release(.feed)
        #expect(world.held(by: 0) == .init(asOf: 6, runs: [[1, 4]]))
        #expect(world.deltas(to: 0) == 1)
        #expect(world.questions().reads == 0)
        // What comes next is told as ever.
        try world.change(4)
        #expect(world.held(by: 0).asOf == 7)
        #expect(world.deltas(to: 0) == 2)
        try world.settle()
    }

    @Test func aMessageThatIsEditedTwiceComesOnce() throws {
        let world = try story(messages: 3)
        try world.change(2)
        try world.say()
        try world.change(2, deleting: true)
        try world.release(.feed)
        #expect(world.held(by: 0) == .init(asOf: 7, runs: [[1, 4]]))
        #expect(world.deltas(to: 0) == 2)
        #expect(world.questions().reads == 0)
        try world.settle()
    }

    /// The value of the first change is from behind the removal.
    @Test func whoWasRemovedIsNotShownWhatWasEditedLater() throws {
        let world = try ReplicaStory.begin(messages: 3, isRinging: true)
        try world.join(1)
        for client in [0, 1] { try world.subscribe(client) }
        world.hold(.feed)
        try world.say()
        try world.write(.removeParticipants(conversation: "c1", ["ben"]))
        try world.change(4)
        try world.release(.feed)
        #expect(world.held(by: 0) == .init(asOf: 7, runs: [[1, 4]]))
        #expect(!world.held(by: 1).isSubscribed)
        #expect(world.deltas(to: 1) == 0)
        try world.settle()
    }

    /// The changes that were missed are read as a whole, what rings meanwhile is read by itself.
    @Test func whatIsEditedWhileTheMissedIsReadComesOnce() throws {
        let world = try ReplicaStory.begin(messages: 3, isRinging: true)
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        try world.say()
        try world.change(4)
        world.hold(.answers)
        try world.release(.link)
        try world.say()
        try world.change(5)
        try world.change(4)
        world.hold(.feed)
        try world.release(.answers)
        try world.release(.feed)
        #expect(world.held(by: 0) == .init(asOf: 9, runs: [[1, 5]]))
        #expect(world.deltas(to: 0) == 2)
        try world.settle()
        #expect(world.deltas(to: 0) == 2)
    }

    /// The link breaks when the first of two changes was told with the value of the second.
    @Test func whatWasToldAheadIsNotToldAgainAfterABreak() throws {
        let world = try story(messages: 3)
        try world.say()
        try world.change(4)
        try world.change(2)
        try world.release(.feed)
        #expect(world.deltas(to: 0) == 2)
        try world.cut()
        try world.settle()
        #expect(world.held(by: 0) == .init(asOf: 7, runs: [[1, 4]]))
        #expect(world.deltas(to: 0) == 2)
    }

    @Test func aRingThatIsLostIsFoundByTheHead() throws {
        let world = try story(messages: 3)
        try world.say()
        world.loseFeed()
        try world.release(.feed)
        try world.settle()
        #expect(world.held(by: 0) == .init(asOf: 5, runs: [[1, 4]]))
    }

    @Test func doubledRingsBringNothingNew() throws {
        let world = try story(messages: 3)
        for _ in 1...3 { try world.say() }
        try world.release(.feed)
        #expect(world.held(by: 0) == .init(asOf: 7, runs: [[1, 6]]))
        #expect(world.deltas(to: 0) == 3)
        #expect(world.questions().reads == 0)
        try world.settle()
    }
}
