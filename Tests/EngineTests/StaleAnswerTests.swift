import Engine
import Ports
import Simulation
import Testing
import Wire

/// What was asked of a log before there was reason to doubt it proves nothing.
@Suite struct StaleAnswerTests {
    @Test func aHeadThatWasReadBeforeItsLogEnded() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.verifyInterval = 1_000 }
        try world.subscribe(0)
        world.hold(.answers)
        // The heads are compared now and then: this one is read, and the answer on its way.
        try world.pass(10)
        world.hold(.questions)
        try world.write(.deleteConversation("c1"))
        #expect(world.held(by: 0).isOpen)
        try world.release(.answers)
        // Everything was fine when it was read.
        #expect(world.held(by: 0).isOpen)
        #expect(world.held(by: 0).isSubscribed)
        try world.release(.questions)
        #expect(!world.held(by: 0).isSubscribed)
        try world.settle()
    }

    @Test func anAbsenceThatWasReadBeforeTheConversationCameBack() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.wait = 100_000 }
        try world.watch(0)
        try world.write(.deleteConversation("c1"))
        world.hold(.answers)
        // It is not there, as far as the origin was asked.
        try world.subscribe(0)
        try world.write(.put(id: "c1", .init(participants: ["ann", "ben"])))
        try world.release(.answers)
        #expect(world.held(by: 0).isSubscribed)
        // Nor is it missing from the list.
        try world.settle()
    }
}
